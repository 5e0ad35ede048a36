# Runs the Python code of docs/GUIDE.md, which is the module store. Prints a
# line for each result.
import uuid

import psycopg2
import store

site = store.Store()


def one(sql, *values):
    return list(site.run(lambda cursor: store.rows(cursor, sql, *values))[0].values())[0]


def user(name):
    return one("SELECT user_id FROM blogstore.create_user(%s)", name)


ann = user("Ann of Python")
first = str(uuid.uuid4())
posts = [store.create_post(site, first, ann, "First", "Text", {"tags": ["a"]}) for _ in range(2)]
print("the same post:", posts[0] == posts[1], one("SELECT count(*) FROM blogstore.list_user_posts(%s)", ann) <= 1)
print("types:", *(type(posts[0][name]).__name__ for name in ("id", "creation_date", "like_count", "properties")))

site.run(lambda cursor: store.rows(cursor, """SELECT count(blogstore.create_comment(%s, %s, n::text)) FROM generate_series(1, 250) AS n""", first, ann))
for size in (100, 125, 250):
    print("all comments:", size, [c["content"] for c in store.all_comments(site, first, size)] == [str(n) for n in range(1, 251)])

for n in range(7):
    store.create_post(site, str(uuid.uuid4()), ann, f"Post {n}", "", {})
one("SELECT blogstore.wait_for_posts('1 min')")
titles, place, sizes = [], (None, None), []
while place:
    page, place = store.feed_page(site, 4, place)
    titles += [post["title"] for post in page]
    sizes.append(len(page))
everything = site.run(lambda cursor: store.rows(cursor, "SELECT title FROM blogstore.list_feed(NULL)"))
print("the feed:", titles == [post["title"] for post in everything], max(sizes), all(sizes))

print("a name that is taken:", *store.answer(user, "ANN OF PYTHON"))
print("no title:", *store.answer(store.create_post, site, str(uuid.uuid4()), ann, "", "", {}))
print("a user who is not there:", *store.answer(store.create_post, site, str(uuid.uuid4()), str(uuid.uuid4()), "Title", "", {}))
one("SELECT id FROM blogstore.hide_post(%s)", first)
print("a hidden post:", *store.answer(one, "SELECT id FROM blogstore.create_like(%s, %s)", first, ann))

tried = []


def fails_first(sql):
    def work(cursor):
        tried.append(sql)
        if len(tried) == 1:
            cursor.execute(sql)
        return store.rows(cursor, "SELECT title FROM blogstore.get_post(%s)", first)[0]["title"]
    tried.clear()
    return work


print("another in the way:", site.run(fails_first("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")), len(tried))
print("a lost connection:", site.run(fails_first("SELECT pg_terminate_backend(pg_backend_pid())")), len(tried))
try:
    site.run(fails_first("SELECT 1 / 0"))
except psycopg2.Error as error:
    print("another error:", error.pgcode, len(tried))
try:
    site.run(lambda cursor: (tried.append(0), cursor.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")), tries=2)
except psycopg2.Error as error:
    print("always in the way:", error.pgcode, len(tried))
