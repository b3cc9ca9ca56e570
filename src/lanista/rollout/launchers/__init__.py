"""How collecting workers run: in this process, in threads, or in processes of their own."""
