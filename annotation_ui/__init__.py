"""What people say: filtering and rating tasks, agreement. Its pages come with the annotation issue."""
