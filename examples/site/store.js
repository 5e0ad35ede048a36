// The store's requests, run as a visitor
//
// All requests go through the wrappers in schema "site" (setup.sql). Each
// transaction sets the visitor's user id, and changes to a role that can call
// only these wrappers. So the wrappers decide which items the visitor may
// read, change and delete.
import pg from 'pg';

// Counts are bigint, which node-postgres returns as text by default.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const PAGE = 20;
const TOPICS = 100;
// The number of replies shown below each comment, and of levels of replies.
const REPLIES = 3;
const LEVELS = 3;
const TRIES = 3;

export class Store {
  constructor(connectionString) {
    this.pool = new pg.Pool({
      connectionString,
      application_name: 'site',
      max: 10,
      connectionTimeoutMillis: 60_000,
      statement_timeout: 60_000,
    });
    // A connection that is lost while nobody uses it is replaced by the next
    // request.
    this.pool.on('error', (error) => console.error(`database: ${error.message}`));
  }

  // Run work in one transaction of a visitor. userId is null if the visitor
  // has not signed in. After a serialization failure (40001) the transaction
  // is repeated.
  async as(userId, work) {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transaction(userId, work);
      } catch (error) {
        if (error.code !== '40001' || tries === TRIES) throw error;
      }
    }
  }

  async #transaction(userId, work) {
    const client = await this.pool.connect();
    let broken;

    try {
      await client.query('BEGIN');
      await client.query(`SELECT set_config('blogstore.current_user_id', $1, true),
        set_config('role', 'site_visitor', true)`, [userId ?? '']);
      const result = await work(new Visit(userId, client));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((lost) => { broken = lost; });
      throw error;
    } finally {
      client.release(broken);
    }
  }

  // Lists are updated a few milliseconds after a commit, and counts in lists
  // up to three seconds. Users that have just written wait here to see their
  // own writes. wait_for_posts() would be enough for posts, but a user that
  // has liked a post expects the new count in the list. Returns whether lists
  // are up to date. Without a worker, wait_for_views() raises 55000; there is
  // nothing to wait for then.
  async listsFollow() {
    try {
      const { rows } = await this.pool.query("SELECT blogstore.wait_for_views('5 s') AS done");

      return rows[0].done;
    } catch (error) {
      if (error.code === '55000') return true;
      throw error;
    }
  }

  close() {
    return this.pool.end();
  }
}

// The requests of one visitor in one transaction
class Visit {
  constructor(userId, client) {
    this.userId = userId;
    this.client = client;
  }

  async rows(sql, ...values) {
    return (await this.client.query(sql, values)).rows;
  }

  async row(sql, ...values) {
    return (await this.rows(sql, ...values))[0];
  }

  // ---- Pages
  //
  // "where" selects a page: {before} or {after} with a position {date, id}, or
  // {} for the first page. list(size, date, id, backwards) reads rows from
  // that position. One row more than the page shows tells whether another page
  // follows.

  async page(list, where) {
    if (where.after) {
      const rows = await list(PAGE + 1, where.after.date, where.after.id, true);

      // Less than a page comes before the position: show the first page.
      if (rows.length > PAGE) return place(rows.slice(0, PAGE).reverse(), true, true);
      where = {};
    }
    const rows = await list(PAGE + 1, where.before?.date ?? null, where.before?.id ?? null, false);

    return place(rows.slice(0, PAGE), Boolean(where.before), rows.length > PAGE);
  }

  // The front page takes two calls: one for the posts with authors and counts,
  // one for the visitor's likes of these posts.
  async feed(where) {
    return this.liked(await this.page((...at) =>
      this.rows('SELECT * FROM site.list_feed($1, $2, $3, $4)', ...at), where));
  }

  // The posts of all whom the visitor follows
  async homeFeed(where) {
    return this.liked(await this.page((...at) =>
      this.rows('SELECT * FROM site.list_home_feed($1, $2, $3, $4, $5)', this.userId, ...at), where));
  }

  async userPosts(userId, where) {
    return this.liked(await this.page((...at) =>
      this.rows('SELECT * FROM site.list_user_posts($1, $2, $3, $4, $5, include_hidden => true)',
        userId, ...at), where));
  }

  // While the worker builds topics, their lists raise 55000.
  async topicPosts(topic, where) {
    return this.liked(await this.page((...at) =>
      this.rows('SELECT * FROM site.list_topic_posts($1, $2, $3, $4, $5)', topic, ...at), where));
  }

  // The name under which hints have a topic. Of all topics that begin with it,
  // the topic itself is the first.
  async topicKey(topic) {
    return (await this.row('SELECT topic FROM site.list_topics($1, 1)', topic))?.topic;
  }

  // A page of the topics that begin with a text, behind a topic
  async topics(prefix, after) {
    const rows = await this.rows('SELECT * FROM site.list_topics($1, $2, $3)', prefix, TOPICS + 1, after);

    return { items: rows.slice(0, TOPICS), isMore: rows.length > TOPICS };
  }

  async liked(page) {
    if (this.userId === null) return page;
    const likes = await this.rows('SELECT post_id FROM site.get_likes($1, $2)',
      this.userId, page.items.map((post) => post.id));
    const mine = new Set(likes.map((like) => like.post_id));

    for (const post of page.items) post.liked = mine.has(post.id);
    return page;
  }

  // Comments on a post, newest first, each with its oldest replies. A reply is
  // an entry of its own if its parent is on another page, or is gone. One more
  // call reads which comments of the post the visitor likes.
  async comments(postId, where) {
    const page = await this.page((...at) =>
      this.rows('SELECT * FROM site.list_post_comments($1, $2, $3, $4, $5, include_hidden => true)',
        postId, ...at), where);
    const shown = new Set(page.items.map((comment) => comment.id));

    await this.addReplies(postId, page.items);
    page.items = page.items.filter((comment) => !shown.has(comment.parent_id));
    return this.likedComments(postId, page);
  }

  // Replies to a comment, oldest first
  async thread(postId, parentId, where) {
    const page = await this.page((size, date, id, backwards) =>
      this.rows('SELECT * FROM site.list_comment_replies($1, $2, $3, $4, $5, $6, include_hidden => true)',
        postId, parentId, size, date, id, !backwards), where);

    await this.addReplies(postId, page.items);
    return this.likedComments(postId, page);
  }

  async likedComments(postId, page) {
    if (this.userId === null) return page;
    const likes = await this.rows('SELECT comment_id FROM site.get_comment_likes($1, $2)', this.userId, postId);
    const mine = new Set(likes.map((like) => like.comment_id));
    const mark = (comment) => {
      comment.liked = mine.has(comment.id);
      comment.replies?.forEach(mark);
    };

    page.items.forEach(mark);
    return page;
  }

  async addReplies(postId, comments) {
    const shown = new Map(comments.map((comment) => [comment.id, comment]));
    let parents = comments;

    for (let level = 0; level < LEVELS && parents.length > 0; level++) {
      const replies = await this.rows(`SELECT reply.* FROM unnest($2::uuid[]) WITH ORDINALITY AS asked (id, n),
          site.list_comment_replies($1, asked.id, $3, oldest_first => true, include_hidden => true) AS reply
        ORDER BY asked.n, reply.creation_date, reply.id`, postId, parents.map((comment) => comment.id), REPLIES + 1);

      for (const comment of parents) comment.replies = [];
      parents = [];
      for (const reply of replies) {
        const parent = shown.get(reply.parent_id);

        if (parent.replies.length === REPLIES) {
          parent.moreReplies = true;
          continue;
        }
        // A reply that is on the page itself has its replies already.
        parent.replies.push(shown.get(reply.id) ?? reply);
        if (shown.has(reply.id)) continue;
        shown.set(reply.id, reply);
        parents.push(reply);
      }
    }
  }

  // ---- Posts

  // get_post() returns exact counts, without waiting for the worker.
  post(id) {
    return this.row('SELECT * FROM site.get_post($1)', id);
  }

  async likes(postId) {
    if (this.userId === null) return false;
    return (await this.rows('SELECT FROM site.get_like($1, $2)', postId, this.userId)).length > 0;
  }

  // The form contains the id, so a form sent twice makes one post.
  createPost({ id, title, content, properties, draft }) {
    return this.row('SELECT * FROM site.create_post($1, $2, post_id => $3, properties => $4, hidden => $5)',
      title, content, id, properties, draft);
  }

  editPost(id, { title, content, properties }) {
    return this.row('SELECT * FROM site.edit_post($1, $2, $3, $4)', id, title, content, properties);
  }

  publishPost(id) {
    return this.row('SELECT * FROM site.publish_post($1)', id);
  }

  hidePost(id) {
    return this.row('SELECT * FROM site.hide_post($1)', id);
  }

  async deletePost(id) {
    return (await this.row('SELECT site.delete_post($1) AS done', id)).done;
  }

  // Like a post, or a comment on it, or take the like back.
  like(postId, liked, commentId = null) {
    return this.row(liked ? 'SELECT * FROM site.create_like($1, comment_id => $2)' :
      'SELECT site.delete_like($1, comment_id => $2)', postId, commentId);
  }

  // ---- Comments

  comment(postId, id) {
    return this.row('SELECT * FROM site.get_comment($1, $2)', postId, id);
  }

  createComment(postId, { id, content, parentId }) {
    return this.row('SELECT * FROM site.create_comment($1, $2, comment_id => $3, parent_id => $4)',
      postId, content, id, parentId);
  }

  editComment(postId, id, content) {
    return this.row('SELECT * FROM site.edit_comment($1, $2, $3)', postId, id, content);
  }

  async deleteComment(postId, id) {
    return (await this.row('SELECT site.delete_comment($1, $2) AS done', postId, id)).done;
  }

  // ---- Users

  user(id) {
    return this.row('SELECT * FROM site.get_user($1)', id);
  }

  userByName(name) {
    return this.row('SELECT * FROM site.get_user_by_name($1)', name);
  }

  // Create the user with this visit's userId.
  createUser(name) {
    return this.row('SELECT * FROM site.create_user($1)', name);
  }

  rename(name) {
    return this.row('SELECT * FROM site.edit_user(username => $1)', name);
  }

  // ---- Follows

  follow(userId, follows) {
    return this.row(follows ? 'SELECT * FROM site.follow_user($1)' : 'SELECT site.unfollow_user($1)', userId);
  }

  async isFollowing(userId) {
    if (this.userId === null) return false;
    return (await this.rows('SELECT FROM site.get_follows($1, ARRAY[$2::uuid])', this.userId, userId)).length > 0;
  }

  followers(userId, where) {
    return this.page((...at) => this.rows('SELECT * FROM site.list_followers($1, $2, $3, $4, $5)', userId, ...at), where);
  }

  following(userId, where) {
    return this.page((...at) => this.rows('SELECT * FROM site.list_following($1, $2, $3, $4, $5)', userId, ...at), where);
  }
}

// Return a page with the positions at which the adjacent pages begin.
function place(items, isNewer, isOlder) {
  const at = (row) => ({ date: row.creation_date, id: row.id });

  return {
    items,
    newer: isNewer && items.length > 0 ? at(items[0]) : null,
    older: isOlder ? at(items[items.length - 1]) : null,
  };
}
