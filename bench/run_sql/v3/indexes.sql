-- indexes.sql
--		Keys, an index for each request that can use one, and the triggers
--		that count and keep the copies, in the transaction of each command.
ALTER TABLE usernames ADD PRIMARY KEY (username_key);
ALTER TABLE users ADD PRIMARY KEY (user_id, id);
CREATE INDEX ON users (user_id, creation_date, id) WHERE type = 'post';
ALTER TABLE posts ADD PRIMARY KEY (post_id, id);
CREATE UNIQUE INDEX ON posts (post_id, user_id) WHERE type = 'like';
CREATE INDEX ON posts (post_id, creation_date, id) WHERE type = 'like';
CREATE INDEX ON posts (post_id, creation_date, id) WHERE type = 'comment';
CREATE INDEX ON posts (user_id);
ALTER TABLE feed ADD PRIMARY KEY (id);
CREATE INDEX ON feed (creation_date, id);

CREATE FUNCTION count_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE posts SET
		comment_count = comment_count + (NEW.type = 'comment')::integer,
		like_count = like_count + (NEW.type = 'like')::integer
	WHERE post_id = NEW.post_id AND id = NEW.post_id;
	RETURN NULL;
END $$;
CREATE TRIGGER count_item AFTER INSERT ON posts
FOR EACH ROW WHEN (NEW.type <> 'post') EXECUTE FUNCTION count_item();

CREATE FUNCTION copy_new_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO users VALUES (NEW.id, 'post', NEW.post_id, NEW.user_id, NULL, NEW.user_username, NEW.title,
		left(NEW.content, 200), NEW.comment_count, NEW.like_count, NEW.creation_date);
	INSERT INTO feed VALUES (NEW.id, 'post', NEW.post_id, NEW.user_id, NEW.user_username, NEW.title,
		left(NEW.content, 200), NEW.comment_count, NEW.like_count, NEW.creation_date);
	DELETE FROM feed WHERE (creation_date, id) < (
		SELECT creation_date, id FROM feed ORDER BY creation_date DESC, id DESC OFFSET 99 LIMIT 1);
	RETURN NULL;
END $$;
CREATE TRIGGER copy_new_post AFTER INSERT ON posts
FOR EACH ROW WHEN (NEW.type = 'post') EXECUTE FUNCTION copy_new_post();

CREATE FUNCTION copy_changed_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE users SET user_username = NEW.user_username, title = NEW.title, content = left(NEW.content, 200),
		comment_count = NEW.comment_count, like_count = NEW.like_count
	WHERE user_id = NEW.user_id AND id = NEW.id;
	UPDATE feed SET user_username = NEW.user_username, title = NEW.title, content = left(NEW.content, 200),
		comment_count = NEW.comment_count, like_count = NEW.like_count
	WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER copy_changed_post AFTER UPDATE ON posts
FOR EACH ROW WHEN (NEW.type = 'post') EXECUTE FUNCTION copy_changed_post();

CREATE FUNCTION rename_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE posts SET user_username = NEW.username WHERE user_id = NEW.user_id;
	RETURN NULL;
END $$;
CREATE TRIGGER rename_items AFTER UPDATE OF username ON users
FOR EACH ROW WHEN (NEW.type = 'user') EXECUTE FUNCTION rename_items();
