"""What our HTTP servers share: sockets, patience with clients, bounds of requests, tokens."""
