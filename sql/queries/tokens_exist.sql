-- Was a token ever made? Revoked ones count: the last one's end must not open the server.
select exists (select from rigstat.token)
