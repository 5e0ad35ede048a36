/*
 * request_list.h
 *		The list of all requests, in the order of the view stat_requests.
 *
 * A file that includes this list first defines the macros COMMAND(constant,
 * code, name) and QUERY(constant, code, name). There is no include guard,
 * because the list is included once for each use.
 *
 * constant: the request's value in enum Request
 * code: C1 to C4 or Q1 to Q6, the request's code in the article whose data
 *     model blogstore implements; NULL if the request is not in the article
 * name: name of the SQL function
 */
COMMAND(REQUEST_CREATE_USER, "C1", create_user)
COMMAND(REQUEST_EDIT_USER, "C1", edit_user)
QUERY(REQUEST_GET_USER, "Q1", get_user)
QUERY(REQUEST_GET_USER_BY_NAME, "Q1", get_user_by_name)
COMMAND(REQUEST_CREATE_POST, "C2", create_post)
COMMAND(REQUEST_EDIT_POST, "C2", edit_post)
QUERY(REQUEST_GET_POST, "Q2", get_post)
QUERY(REQUEST_LIST_USER_POSTS, "Q3", list_user_posts)
COMMAND(REQUEST_CREATE_COMMENT, "C3", create_comment)
QUERY(REQUEST_LIST_POST_COMMENTS, "Q4", list_post_comments)
COMMAND(REQUEST_CREATE_LIKE, "C4", create_like)
QUERY(REQUEST_LIST_POST_LIKES, "Q5", list_post_likes)
QUERY(REQUEST_LIST_FEED, "Q6", list_feed)
COMMAND(REQUEST_EDIT_COMMENT, NULL, edit_comment)
QUERY(REQUEST_GET_LIKE, NULL, get_like)
COMMAND(REQUEST_DELETE_LIKE, NULL, delete_like)
COMMAND(REQUEST_DELETE_COMMENT, NULL, delete_comment)
COMMAND(REQUEST_DELETE_POST, NULL, delete_post)
COMMAND(REQUEST_DELETE_USER, NULL, delete_user)
COMMAND(REQUEST_HIDE_POST, NULL, hide_post)
COMMAND(REQUEST_PUBLISH_POST, NULL, publish_post)
COMMAND(REQUEST_SCHEDULE_POST, NULL, schedule_post)
COMMAND(REQUEST_HIDE_COMMENT, NULL, hide_comment)
QUERY(REQUEST_GET_COMMENT, NULL, get_comment)
QUERY(REQUEST_GET_POSTS, NULL, get_posts)
QUERY(REQUEST_GET_USERS, NULL, get_users)
QUERY(REQUEST_GET_LIKES, NULL, get_likes)
QUERY(REQUEST_GET_COMMENT_LIKES, NULL, get_comment_likes)
QUERY(REQUEST_LIST_COMMENT_REPLIES, NULL, list_comment_replies)
QUERY(REQUEST_LIST_COMMENT_LIKES, NULL, list_comment_likes)
QUERY(REQUEST_LIST_USER_COMMENTS, NULL, list_user_comments)
QUERY(REQUEST_LIST_USER_LIKES, NULL, list_user_likes)
QUERY(REQUEST_LIST_TOPIC_POSTS, NULL, list_topic_posts)
QUERY(REQUEST_LIST_TOPICS, NULL, list_topics)
COMMAND(REQUEST_FOLLOW_USER, NULL, follow_user)
COMMAND(REQUEST_UNFOLLOW_USER, NULL, unfollow_user)
QUERY(REQUEST_GET_FOLLOWS, NULL, get_follows)
QUERY(REQUEST_LIST_FOLLOWING, NULL, list_following)
QUERY(REQUEST_LIST_FOLLOWERS, NULL, list_followers)
QUERY(REQUEST_LIST_HOME_FEED, NULL, list_home_feed)
