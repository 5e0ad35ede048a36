-- choose.sql
--		Whom the next transaction lets like, comment on or unlike which post.
--
-- Put before each request's statement. Client c takes users c, c + clients,
-- c + 2 * clients, ... User u takes post shuffle(u) + run of those that the run
-- is spread over, so within a run no user takes a post twice, and neither do
-- two runs of different number. A client that has used up its share of users
-- would begin to repeat: it is ended by a division by zero instead.
\set i :i + 1
\set enough 1 / case when :i <= :share then 1 else 0 end
\set user (:i - 1) * :clients + :client_id
\set post :first + mod(permute(mod(:user, :posts), :posts, :user / :posts) + :run, :posts)
