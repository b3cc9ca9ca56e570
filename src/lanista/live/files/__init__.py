"""Files that bots and the learner share: game files, the spool, the policy folder."""
