-- What users of 0.1 have: the containers and bookkeeping tables that its
-- create_containers(2) made, with users, posts, comments, likes, a delta and a
-- queued rename, as pg_dump of PostgreSQL 15 wrote them. The worker was stopped
-- before. Restored into a database in which 0.1 has been created.

CREATE TABLE blogstore.change_feed (
    only_row boolean DEFAULT true NOT NULL,
    applied_lsn pg_lsn NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    timeline bigint NOT NULL,
    system_identifier bigint NOT NULL,
    layout bigint NOT NULL,
    CONSTRAINT change_feed_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');
COMMENT ON TABLE blogstore.change_feed IS 'One row: how far the worker has applied the WAL, on which server, to which partitions.';
CREATE TABLE blogstore.feed (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
PARTITION BY LIST (type);
COMMENT ON TABLE blogstore.feed IS 'Container: the newest posts of all in short form (view). Written by the blogstore worker only.';
CREATE TABLE blogstore.feed_post (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
CREATE TABLE blogstore.jobs (
    id uuid NOT NULL,
    kind text NOT NULL,
    user_id uuid,
    phase integer DEFAULT 0 NOT NULL,
    partition_number integer DEFAULT 0 NOT NULL,
    position_first uuid,
    position_date timestamp with time zone,
    position_last uuid,
    done bigint DEFAULT 0 NOT NULL,
    total bigint,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    CONSTRAINT jobs_kind_check CHECK ((kind = ANY (ARRAY['rebuild'::text, 'rename'::text, 'deletion'::text])))
)
WITH (fillfactor='50');
COMMENT ON TABLE blogstore.jobs IS 'Work queued for the blogstore worker; blogstore.progress shows it.';
CREATE TABLE blogstore.posts (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone
)
PARTITION BY HASH (post_id);
COMMENT ON TABLE blogstore.posts IS 'Container: post, comment and like items, together by post, and deltas of posts'' counts. Written by blogstore only.';
CREATE TABLE blogstore.posts_p00 (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone
)
PARTITION BY LIST (type);
CREATE TABLE blogstore.posts_p00_comment (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
);
CREATE TABLE blogstore.posts_p00_delta (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone
)
WITH (fillfactor='10', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE blogstore.posts_p00_like (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
);
CREATE TABLE blogstore.posts_p00_post (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.1');
CREATE TABLE blogstore.posts_p01 (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone
)
PARTITION BY LIST (type);
CREATE TABLE blogstore.posts_p01_comment (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
);
CREATE TABLE blogstore.posts_p01_delta (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone
)
WITH (fillfactor='10', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE blogstore.posts_p01_like (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
);
CREATE TABLE blogstore.posts_p01_post (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_username text NOT NULL,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.1');
CREATE TABLE blogstore.usernames (
    username_key text NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL
);
COMMENT ON TABLE blogstore.usernames IS 'Keeps usernames unique regardless of case.';
CREATE TABLE blogstore.users (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
PARTITION BY HASH (user_id);
COMMENT ON TABLE blogstore.users IS 'Container: user items, and the short form of each user''s posts (view). Written by blogstore only.';
CREATE TABLE blogstore.users_p00 (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
PARTITION BY LIST (type);
CREATE TABLE blogstore.users_p00_post (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.1');
CREATE TABLE blogstore.users_p00_user (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='90');
ALTER TABLE ONLY blogstore.users_p00_user REPLICA IDENTITY FULL;
CREATE TABLE blogstore.users_p01 (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
PARTITION BY LIST (type);
CREATE TABLE blogstore.users_p01_post (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.1');
CREATE TABLE blogstore.users_p01_user (
    id uuid NOT NULL,
    type text NOT NULL,
    post_id uuid,
    user_id uuid NOT NULL,
    username text,
    user_username text,
    title text,
    content text,
    comment_count bigint,
    like_count bigint,
    creation_date timestamp with time zone NOT NULL
)
WITH (fillfactor='90');
ALTER TABLE ONLY blogstore.users_p01_user REPLICA IDENTITY FULL;
CREATE TABLE blogstore.view_state (
    only_row boolean DEFAULT true NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    ready boolean DEFAULT false NOT NULL,
    feed_size integer DEFAULT 0 NOT NULL,
    short_form_length integer DEFAULT 0 NOT NULL,
    CONSTRAINT view_state_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');
COMMENT ON TABLE blogstore.view_state IS 'One row: whether the worker may run, whether the views are complete, the settings they were built with.';
ALTER TABLE ONLY blogstore.feed ATTACH PARTITION blogstore.feed_post FOR VALUES IN ('post');
ALTER TABLE ONLY blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_comment FOR VALUES IN ('comment');
ALTER TABLE ONLY blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_delta FOR VALUES IN ('delta');
ALTER TABLE ONLY blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_like FOR VALUES IN ('like');
ALTER TABLE ONLY blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
ALTER TABLE ONLY blogstore.posts ATTACH PARTITION blogstore.posts_p01 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_comment FOR VALUES IN ('comment');
ALTER TABLE ONLY blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_delta FOR VALUES IN ('delta');
ALTER TABLE ONLY blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_like FOR VALUES IN ('like');
ALTER TABLE ONLY blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_post FOR VALUES IN ('post');
ALTER TABLE ONLY blogstore.users ATTACH PARTITION blogstore.users_p00 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY blogstore.users_p00 ATTACH PARTITION blogstore.users_p00_post FOR VALUES IN ('post');
ALTER TABLE ONLY blogstore.users_p00 ATTACH PARTITION blogstore.users_p00_user FOR VALUES IN ('user');
ALTER TABLE ONLY blogstore.users ATTACH PARTITION blogstore.users_p01 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY blogstore.users_p01 ATTACH PARTITION blogstore.users_p01_post FOR VALUES IN ('post');
ALTER TABLE ONLY blogstore.users_p01 ATTACH PARTITION blogstore.users_p01_user FOR VALUES IN ('user');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000006', 'post', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000003', 'user 3', 'title 6', 'content 6', 1, 2, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000005', 'post', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000002', 'user 2', 'title 5', 'content 5', 1, 2, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000004', 'post', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000001', 'user 1', 'title 4', 'content 4', 1, 2, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000003', 'post', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000004', 'user 4', 'title 3', 'content 3', 1, 2, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000002', 'post', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000003', 'user 3', 'title 2', 'content 2', 1, 2, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.feed_post VALUES ('00000000-0000-7000-8001-000000000001', 'post', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000002', 'user 2', 'title 1', 'content 1', 1, 2, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.jobs VALUES ('01a2040f-15b1-7641-bbda-ee9074b5ad02', 'rename', '00000000-0000-7000-8000-000000000004', 0, 0, NULL, NULL, NULL, 0, NULL, '2026-11-22 16:20:27.185438+00', NULL);
INSERT INTO blogstore.posts_p00_comment VALUES ('00000000-0000-7000-8002-000000000003', 'comment', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, 'comment', NULL, NULL, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.posts_p00_comment VALUES ('00000000-0000-7000-8002-000000000004', 'comment', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, 'comment', NULL, NULL, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.posts_p00_comment VALUES ('00000000-0000-7000-8002-000000000005', 'comment', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000003', 'user 3', NULL, 'comment', NULL, NULL, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-7468-9e4f-d29103542aa6', 'like', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-76d8-b1dc-898ac7bc712f', 'like', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-773c-93ce-0fcf198ac9ea', 'like', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-78a7-a8d0-adefba5b7862', 'like', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-78fc-bebb-cda3857c6827', 'like', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.posts_p00_like VALUES ('01a2040f-1593-794c-9b7d-ff2bb549670c', 'like', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.posts_p00_post VALUES ('00000000-0000-7000-8001-000000000003', 'post', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000004', 'user 4', 'title 3', 'content 3', 1, 2, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.posts_p00_post VALUES ('00000000-0000-7000-8001-000000000004', 'post', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000001', 'user 1', 'title 4', 'content 4', 1, 2, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.posts_p00_post VALUES ('00000000-0000-7000-8001-000000000005', 'post', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000002', 'user 2', 'title 5', 'content 5', 1, 2, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.posts_p01_comment VALUES ('00000000-0000-7000-8002-000000000001', 'comment', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000003', 'user 3', NULL, 'comment', NULL, NULL, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.posts_p01_comment VALUES ('00000000-0000-7000-8002-000000000002', 'comment', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000004', 'user 4', NULL, 'comment', NULL, NULL, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.posts_p01_comment VALUES ('00000000-0000-7000-8002-000000000006', 'comment', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000004', 'user 4', NULL, 'comment', NULL, NULL, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.posts_p01_delta VALUES ('00000000-0000-8000-8000-000000000005', 'delta', '00000000-0000-7000-8001-000000000001', NULL, NULL, NULL, NULL, 0, 1, NULL);
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-705b-8670-e09baf712844', 'like', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-73fb-bf44-9bdb47439f46', 'like', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-7791-b62f-7e50cb3418e1', 'like', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-77ed-bd19-ce5dc25b472d', 'like', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-7850-abd1-ceb8c40a9ff2', 'like', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-1593-799c-8a15-e4615f0bcaf3', 'like', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.posts_p01_like VALUES ('01a2040f-15a5-7e07-95e2-ea390c1f94b2', 'like', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000003', 'user 3', NULL, NULL, NULL, NULL, '2024-01-01 00:30:00+00');
INSERT INTO blogstore.posts_p01_post VALUES ('00000000-0000-7000-8001-000000000001', 'post', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000002', 'user 2', 'title 1', 'content 1', 1, 2, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.posts_p01_post VALUES ('00000000-0000-7000-8001-000000000002', 'post', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000003', 'user 3', 'title 2', 'content 2', 1, 2, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.posts_p01_post VALUES ('00000000-0000-7000-8001-000000000006', 'post', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000003', 'user 3', 'title 6', 'content 6', 1, 2, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.usernames VALUES ('user 1', '00000000-0000-7000-8000-000000000001');
INSERT INTO blogstore.usernames VALUES ('user 2', '00000000-0000-7000-8000-000000000002');
INSERT INTO blogstore.usernames VALUES ('user 3', '00000000-0000-7000-8000-000000000003');
INSERT INTO blogstore.usernames VALUES ('renamed', '00000000-0000-7000-8000-000000000004');
INSERT INTO blogstore.users_p00_post VALUES ('00000000-0000-7000-8001-000000000005', 'post', '00000000-0000-7000-8001-000000000005', '00000000-0000-7000-8000-000000000002', NULL, 'user 2', 'title 5', 'content 5', 1, 2, '2024-01-01 00:05:00+00');
INSERT INTO blogstore.users_p00_post VALUES ('00000000-0000-7000-8001-000000000001', 'post', '00000000-0000-7000-8001-000000000001', '00000000-0000-7000-8000-000000000002', NULL, 'user 2', 'title 1', 'content 1', 1, 2, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.users_p00_user VALUES ('00000000-0000-7000-8000-000000000002', 'user', NULL, '00000000-0000-7000-8000-000000000002', 'user 2', NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.users_p01_post VALUES ('00000000-0000-7000-8001-000000000003', 'post', '00000000-0000-7000-8001-000000000003', '00000000-0000-7000-8000-000000000004', NULL, 'user 4', 'title 3', 'content 3', 1, 2, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.users_p01_post VALUES ('00000000-0000-7000-8001-000000000004', 'post', '00000000-0000-7000-8001-000000000004', '00000000-0000-7000-8000-000000000001', NULL, 'user 1', 'title 4', 'content 4', 1, 2, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.users_p01_post VALUES ('00000000-0000-7000-8001-000000000002', 'post', '00000000-0000-7000-8001-000000000002', '00000000-0000-7000-8000-000000000003', NULL, 'user 3', 'title 2', 'content 2', 1, 2, '2024-01-01 00:02:00+00');
INSERT INTO blogstore.users_p01_post VALUES ('00000000-0000-7000-8001-000000000006', 'post', '00000000-0000-7000-8001-000000000006', '00000000-0000-7000-8000-000000000003', NULL, 'user 3', 'title 6', 'content 6', 1, 2, '2024-01-01 00:06:00+00');
INSERT INTO blogstore.users_p01_user VALUES ('00000000-0000-7000-8000-000000000001', 'user', NULL, '00000000-0000-7000-8000-000000000001', 'user 1', NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:01:00+00');
INSERT INTO blogstore.users_p01_user VALUES ('00000000-0000-7000-8000-000000000003', 'user', NULL, '00000000-0000-7000-8000-000000000003', 'user 3', NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:03:00+00');
INSERT INTO blogstore.users_p01_user VALUES ('00000000-0000-7000-8000-000000000004', 'user', NULL, '00000000-0000-7000-8000-000000000004', 'renamed', NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:04:00+00');
INSERT INTO blogstore.view_state VALUES (true, false, false, 100, 200);
ALTER TABLE ONLY blogstore.change_feed
    ADD CONSTRAINT change_feed_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY blogstore.feed_post
    ADD CONSTRAINT feed_post_pkey PRIMARY KEY (post_id);
ALTER TABLE ONLY blogstore.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY blogstore.posts_p00_comment
    ADD CONSTRAINT posts_p00_comment_pkey PRIMARY KEY (post_id, id);
ALTER TABLE ONLY blogstore.posts_p00_delta
    ADD CONSTRAINT posts_p00_delta_pkey PRIMARY KEY (post_id, id);
ALTER TABLE ONLY blogstore.posts_p00_like
    ADD CONSTRAINT posts_p00_like_pkey PRIMARY KEY (user_id, post_id);
ALTER TABLE ONLY blogstore.posts_p00_post
    ADD CONSTRAINT posts_p00_post_pkey PRIMARY KEY (post_id);
ALTER TABLE ONLY blogstore.posts_p01_comment
    ADD CONSTRAINT posts_p01_comment_pkey PRIMARY KEY (post_id, id);
ALTER TABLE ONLY blogstore.posts_p01_delta
    ADD CONSTRAINT posts_p01_delta_pkey PRIMARY KEY (post_id, id);
ALTER TABLE ONLY blogstore.posts_p01_like
    ADD CONSTRAINT posts_p01_like_pkey PRIMARY KEY (user_id, post_id);
ALTER TABLE ONLY blogstore.posts_p01_post
    ADD CONSTRAINT posts_p01_post_pkey PRIMARY KEY (post_id);
ALTER TABLE ONLY blogstore.usernames
    ADD CONSTRAINT usernames_pkey PRIMARY KEY (username_key);
ALTER TABLE ONLY blogstore.users_p00_post
    ADD CONSTRAINT users_p00_post_pkey PRIMARY KEY (user_id, creation_date, id);
ALTER TABLE ONLY blogstore.users_p00_user
    ADD CONSTRAINT users_p00_user_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY blogstore.users_p01_post
    ADD CONSTRAINT users_p01_post_pkey PRIMARY KEY (user_id, creation_date, id);
ALTER TABLE ONLY blogstore.users_p01_user
    ADD CONSTRAINT users_p01_user_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY blogstore.view_state
    ADD CONSTRAINT view_state_pkey PRIMARY KEY (only_row);
CREATE INDEX feed_post_date ON blogstore.feed_post USING btree (creation_date, id);
CREATE INDEX posts_p00_comment_by_user ON blogstore.posts_p00_comment USING btree (user_id, id);
CREATE INDEX posts_p00_comment_list ON blogstore.posts_p00_comment USING btree (post_id, creation_date, id);
CREATE INDEX posts_p00_like_list ON blogstore.posts_p00_like USING btree (post_id, creation_date, id);
CREATE UNIQUE INDEX posts_p00_post_by_user ON blogstore.posts_p00_post USING btree (user_id, creation_date, id);
ALTER TABLE ONLY blogstore.posts_p00_post REPLICA IDENTITY USING INDEX posts_p00_post_by_user;
CREATE INDEX posts_p00_post_date ON blogstore.posts_p00_post USING btree (creation_date, id);
CREATE INDEX posts_p01_comment_by_user ON blogstore.posts_p01_comment USING btree (user_id, id);
CREATE INDEX posts_p01_comment_list ON blogstore.posts_p01_comment USING btree (post_id, creation_date, id);
CREATE INDEX posts_p01_like_list ON blogstore.posts_p01_like USING btree (post_id, creation_date, id);
CREATE UNIQUE INDEX posts_p01_post_by_user ON blogstore.posts_p01_post USING btree (user_id, creation_date, id);
ALTER TABLE ONLY blogstore.posts_p01_post REPLICA IDENTITY USING INDEX posts_p01_post_by_user;
CREATE INDEX posts_p01_post_date ON blogstore.posts_p01_post USING btree (creation_date, id);
