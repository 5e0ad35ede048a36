-- out.sql
--		What a store holds, as import() takes it, into files in :directory.
\set file :directory '/users'
COPY (SELECT user_id, username, creation_date FROM blogstore.users WHERE type = 'user') TO :'file';
\set file :directory '/posts'
COPY (SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = 'post') TO :'file';
\set file :directory '/comments'
COPY (SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = 'comment') TO :'file';
\set file :directory '/likes'
COPY (SELECT post_id, user_id, creation_date FROM blogstore.posts WHERE type = 'like') TO :'file';
