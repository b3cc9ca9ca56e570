"""Team pools: packed sets, PokePaste folders, random legal teams."""
