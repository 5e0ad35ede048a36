-- The tables of WordPress that docs/MOVING_IN.md reads, for MariaDB: the
-- columns that it needs and those that it has to ignore, with their types.

SET sql_mode = '';

CREATE TABLE wp_users (
	ID bigint unsigned NOT NULL PRIMARY KEY,
	user_login varchar(60) NOT NULL,
	user_pass varchar(255) NOT NULL,
	user_nicename varchar(50) NOT NULL,
	user_email varchar(100) NOT NULL,
	user_url varchar(100) NOT NULL DEFAULT '',
	user_registered datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	display_name varchar(250) NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_posts (
	ID bigint unsigned NOT NULL PRIMARY KEY,
	post_author bigint unsigned NOT NULL DEFAULT 0,
	post_date datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	post_date_gmt datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	post_modified_gmt datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	post_title text NOT NULL,
	post_name varchar(200) NOT NULL DEFAULT '',
	post_content longtext NOT NULL,
	post_excerpt text NOT NULL DEFAULT '',
	post_status varchar(20) NOT NULL DEFAULT 'publish',
	post_type varchar(20) NOT NULL DEFAULT 'post',
	post_parent bigint unsigned NOT NULL DEFAULT 0,
	post_password varchar(255) NOT NULL DEFAULT ''
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_comments (
	comment_ID bigint unsigned NOT NULL PRIMARY KEY,
	comment_post_ID bigint unsigned NOT NULL,
	comment_parent bigint unsigned NOT NULL DEFAULT 0,
	user_id bigint unsigned NOT NULL DEFAULT 0,
	comment_author tinytext NOT NULL DEFAULT '',
	comment_author_email varchar(100) NOT NULL DEFAULT '',
	comment_author_url varchar(200) NOT NULL DEFAULT '',
	comment_author_IP varchar(100) NOT NULL DEFAULT '',
	comment_date datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	comment_date_gmt datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	comment_content text NOT NULL,
	comment_approved varchar(20) NOT NULL DEFAULT '1',
	comment_type varchar(20) NOT NULL DEFAULT 'comment'
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_terms (
	term_id bigint unsigned NOT NULL PRIMARY KEY,
	name varchar(200) NOT NULL,
	slug varchar(200) NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_term_taxonomy (
	term_taxonomy_id bigint unsigned NOT NULL PRIMARY KEY,
	term_id bigint unsigned NOT NULL,
	taxonomy varchar(32) NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_term_relationships (
	object_id bigint unsigned NOT NULL,
	term_taxonomy_id bigint unsigned NOT NULL,
	PRIMARY KEY (object_id, term_taxonomy_id)
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE wp_postmeta (
	meta_id bigint unsigned NOT NULL PRIMARY KEY,
	post_id bigint unsigned NOT NULL,
	meta_key varchar(255),
	meta_value longtext
) DEFAULT CHARSET = utf8mb4;
