-- edited_post.sql
--		Posts in an order that looks random, each as often as all others.
--		Within a run each belongs to one client, so that the last edit is the
--		same for all contestants.
\set post 8000000000000001 + permute(:client_id + :clients * mod(:base + :i, :posts / :clients), :posts)
