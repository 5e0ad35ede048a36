-- follows.sql
--		Whom the first 100 users follow: 100 others each, or all if there are
--		fewer. Variables: users.
CREATE TABLE staging.follows AS
SELECT ('0180000000007000' || (8000000000000000 + reader))::uuid AS user_id,
	('0180000000007000' || (8000000000000001 + (reader - 1 + k * greatest(:users / 101, 1)) % :users))::uuid AS followed_id,
	timestamptz '2024-01-01 00:00Z' + k * interval '1 minute' AS creation_date
FROM generate_series(1, least(:users, 100)) AS reader, generate_series(1, least(:users - 1, 100)) AS k;
