# Runs the code of docs/GUIDE.md for SQLAlchemy, which is the module
# sqlalchemy_posts.
import sqlalchemy_posts
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

engine = create_engine("postgresql+psycopg2://")
with Session(engine) as session:
    ann = session.execute(text("SELECT user_id FROM blogstore.create_user('Ann of SQLAlchemy')")).scalar_one()
    session.execute(text("SELECT FROM generate_series(1, 5) AS n, LATERAL blogstore.create_post(:ann, 'SQLAlchemy ' || n, '', properties => '{\"n\": 1}'::jsonb)"), {"ann": ann})
    session.commit()
    session.execute(text("SELECT blogstore.wait_for_posts('1 min')"))
    page = sqlalchemy_posts.feed(session, 3)
    rest = sqlalchemy_posts.feed(session, 2, (page[-1].creation_date, page[-1].id))
    print(*(post.title for post in page + rest), sep=", ")
    print(str(page[0].user_id) == str(ann), page[0].user_username, page[0].like_count, page[0].properties)
    try:
        session.execute(text("SELECT blogstore.create_user('ann of SQLALCHEMY')"))
    except IntegrityError as error:
        print(error.orig.pgcode)
