-- schema.sql
--		The counters of the trigger peer, on top of what both peers share.
--
-- Triggers fire in the order of their names. These come before the foreign
-- keys' (RI_...), which would otherwise lock the post FOR KEY SHARE first: with
-- many clients on one post it would then carry a crowd of lockers, and take
-- less than half as many likes.
--
-- The two functions stand twice but for a name: one with the name as an argument
-- would have to plan its UPDATE anew each time.
CREATE FUNCTION count_like() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		UPDATE posts SET like_count = like_count + 1 WHERE post_id = NEW.post_id;
	ELSE
		UPDATE posts SET like_count = like_count - 1 WHERE post_id = OLD.post_id;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "Count_like" AFTER INSERT OR DELETE ON likes
FOR EACH ROW EXECUTE FUNCTION count_like();

CREATE FUNCTION count_comment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		UPDATE posts SET comment_count = comment_count + 1 WHERE post_id = NEW.post_id;
	ELSE
		UPDATE posts SET comment_count = comment_count - 1 WHERE post_id = OLD.post_id;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "Count_comment" AFTER INSERT OR DELETE ON comments
FOR EACH ROW EXECUTE FUNCTION count_comment();
