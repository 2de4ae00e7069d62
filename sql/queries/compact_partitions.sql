-- Columns: made.
select rigstat.make_partitions(7)
