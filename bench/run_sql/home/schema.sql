-- schema.sql
--		The floor's table of whom users follow.
CREATE TABLE floor.follows (
	user_id			uuid NOT NULL,
	followed_id		uuid NOT NULL,
	PRIMARY KEY (user_id, followed_id)
);
