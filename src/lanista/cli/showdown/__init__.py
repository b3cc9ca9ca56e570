"""`lanista showdown`: the simulator and real servers."""
