UPDATE users SET username = 'renamed ' || :number
WHERE user_id = ('0180000000007000' || :user)::uuid
RETURNING id, type, user_id, username, creation_date;
