# Runs the code of docs/GUIDE.md for Django, which is the module django_posts.
import os

import django
from django.conf import settings

settings.configure(USE_TZ=True, DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
    "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}})
django.setup()

import django_posts  # noqa: E402
from django.db import IntegrityError, connection, transaction  # noqa: E402

with transaction.atomic(), connection.cursor() as cursor:
    cursor.execute("SELECT user_id FROM blogstore.create_user('Ann of Django')")
    ann = cursor.fetchone()[0]
    cursor.execute("SELECT FROM generate_series(1, 5) AS n, LATERAL blogstore.create_post(%s, 'Django ' || n, '', properties => '{\"n\": 1}')", [ann])
with connection.cursor() as cursor:
    cursor.execute("SELECT blogstore.wait_for_posts('1 min')")
page = django_posts.feed(3)
rest = django_posts.feed(2, (page[-1].creation_date, page[-1].id))
print(*(post.title for post in page + rest), sep=", ")
print(page[0].user_id == ann, page[0].user_username, page[0].like_count, page[0].properties)
try:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT blogstore.create_user('ann of DJANGO')")
except IntegrityError as error:
    print(error.__cause__.pgcode)
