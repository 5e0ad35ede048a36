-- follows.sql
--		Readers number :first to :last follow :followed others each, who are
--		spread over all users. blogstore's follows are made by the command that
--		a living site uses. Variables: users, first, last, followed.
CREATE TEMPORARY TABLE made AS
SELECT dataset.user_id(reader) AS user_id,
	dataset.user_id(1 + (reader - 1 + k * (:users / (:followed + 1))) % :users) AS followed_id
FROM generate_series(:first, :last) AS reader, generate_series(1, :followed) AS k;

SELECT count(blogstore.follow_user(user_id, followed_id)) FROM made;
INSERT INTO floor.follows SELECT user_id, followed_id FROM made;
