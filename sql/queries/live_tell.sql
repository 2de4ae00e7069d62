-- Tells every server what this one has stored. $1 a note (server/live_note.h).
select pg_notify('rigstat', $1::text)::text
