<?php
/*
 * Runs WordPress without a web server.
 *
 * Usage: php wordpress.php DIRECTORY SOCKET install|write
 *
 * DIRECTORY has the files of WordPress. SOCKET is that of a MariaDB with a
 * database wordpress. "install" makes the tables, and empties those that the
 * tests fill. "write" does what people do in WordPress. No mail is sent, and
 * no updates are looked for.
 */

define( 'ABSPATH', rtrim( $argv[1], '/' ) . '/' );
define( 'DB_NAME', 'wordpress' );
define( 'DB_USER', 'root' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:' . $argv[2] );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
define( 'WP_SITEURL', 'http://localhost' );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'DISABLE_WP_CRON', true );
define( 'WP_INSTALLING', 'install' === $argv[3] );
$table_prefix = 'wp_';
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REMOTE_ADDR'] = '192.0.2.11';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['REQUEST_METHOD'] = 'GET';

function wp_mail() { return true; }
function wp_new_blog_notification() {}

require ABSPATH . 'wp-settings.php';

if ( WP_INSTALLING ) {
	require ABSPATH . 'wp-admin/includes/upgrade.php';
	// It need not try by HTTP whether it can have addresses without a query.
	add_filter( 'pre_option_permalink_structure', function () { return '/%postname%/'; } );
	wp_install( 'A small site', 'admin', 'admin@example.org', true, '', 'secret' );
	update_option( 'timezone_string', 'Europe/Berlin' );
	update_option( 'comment_moderation', 1 );
	foreach ( array( 'users', 'posts', 'postmeta', 'comments', 'commentmeta', 'terms', 'term_taxonomy', 'term_relationships' ) as $name ) {
		$wpdb->query( "TRUNCATE wp_$name" );
	}
	exit;
}

function must( $result ) {
	if ( ! $result || is_wp_error( $result ) ) {
		fwrite( STDERR, print_r( $result, true ) . "\n" . ( new Exception() )->getTraceAsString() . "\n" );
		exit( 1 );
	}
	return $result;
}

wp_set_current_user( 1 );

// An author writes a post and changes its slug, publishes a draft, and writes
// a post for later.
$post = must( wp_insert_post( array(
	'import_id' => 40, 'post_author' => 1, 'post_status' => 'publish', 'post_date' => '2024-08-01 12:00:00',
	'post_title' => 'Käse & "Brot"', 'post_content' => "<p>It's <em>one</em> \\\\ two 😀</p>", 'tags_input' => array( 'Brot 🍞', 'first' ) ), true ) );
must( wp_update_post( array( 'ID' => $post, 'post_name' => 'Käse und Brot' ), true ) );
$draft = must( wp_insert_post( array( 'import_id' => 50, 'post_author' => 6, 'post_status' => 'draft', 'post_title' => 'Later <b>on</b>', 'post_content' => 'Soon.' ), true ) );
must( wp_insert_post( array( 'import_id' => 60, 'post_author' => 6, 'post_status' => 'draft', 'post_title' => 'Stays a draft', 'post_content' => '' ), true ) );
must( wp_insert_post( array( 'import_id' => 70, 'post_author' => 6, 'post_status' => 'future', 'post_date' => '2044-08-01 12:00:00', 'post_title' => 'Scheduled', 'post_content' => 'Then.' ), true ) );
must( wp_insert_post( array( 'import_id' => 80, 'post_author' => 1, 'post_status' => 'publish', 'post_type' => 'page', 'post_title' => 'A page', 'post_content' => 'None.' ), true ) );
must( wp_update_post( array( 'ID' => $draft, 'post_status' => 'publish', 'post_date' => '2024-08-02 12:00:00', 'edit_date' => true ), true ) );

// A guest's comment is held for approval. The author's reply and another one
// are not. One comment is marked as spam.
wp_set_current_user( 0 );
$said = array( 'comment_post_ID' => $post, 'comment_author' => 'Zoë', 'comment_author_email' => 'zoe@example.org',
	'comment_author_url' => '', 'comment_author_IP' => '192.0.2.12', 'comment_agent' => 'test', 'comment_type' => 'comment' );
$held = must( wp_new_comment( wp_slash( array( 'comment_content' => "Isn't it? \\o/", 'comment_date' => '2024-08-01 13:00:00', 'comment_date_gmt' => '2024-08-01 11:00:00' ) + $said ), true ) );
$shown = must( wp_new_comment( wp_slash( array( 'comment_content' => 'And butter?', 'comment_date' => '2024-08-01 14:00:00', 'comment_date_gmt' => '2024-08-01 12:00:00' ) + $said ), true ) );
$spam = must( wp_new_comment( wp_slash( array( 'comment_content' => 'Buy butter!', 'comment_date' => '2024-08-01 15:00:00', 'comment_date_gmt' => '2024-08-01 13:00:00' ) + $said ), true ) );
wp_set_current_user( 1 );
must( wp_set_comment_status( $shown, 'approve' ) );
must( wp_spam_comment( $spam ) );
must( wp_insert_comment( array( 'comment_post_ID' => $post, 'comment_parent' => $shown, 'user_id' => 1, 'comment_author' => 'Ann Öberg',
	'comment_content' => 'Of course.', 'comment_date' => '2024-08-01 16:00:00', 'comment_approved' => 1 ) ) );

// What is thrown away
must( wp_trash_post( 16 ) );
must( wp_trash_comment( 107 ) );
