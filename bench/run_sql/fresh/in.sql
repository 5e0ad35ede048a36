-- in.sql
--		A new store of these files.
CREATE EXTENSION blogstore;
SELECT blogstore.create_containers();
CREATE SCHEMA staging;
SET search_path = staging;
CREATE UNLOGGED TABLE users (user_id uuid, username text, creation_date timestamptz);
CREATE UNLOGGED TABLE posts (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz);
CREATE UNLOGGED TABLE comments (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz);
CREATE UNLOGGED TABLE likes (post_id uuid, user_id uuid, creation_date timestamptz);
\set file :directory '/users'
COPY users FROM :'file';
\set file :directory '/posts'
COPY posts FROM :'file';
\set file :directory '/comments'
COPY comments FROM :'file';
\set file :directory '/likes'
COPY likes FROM :'file';
ANALYZE users, posts, comments, likes;
SELECT * FROM blogstore.import(users => 'users', posts => 'posts', comments => 'comments', likes => 'likes');
