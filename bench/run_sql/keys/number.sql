-- number.sql
--		The number of the next write of this kind: client c takes :base + c,
--		:base + c + :clients, ... and :base is how many there were before, so
--		that no number comes twice and every contestant writes the same.
\set i :i + 1
\set number :base + (:i - 1) * :clients + :client_id
