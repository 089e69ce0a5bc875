"""How far an edit moves the next-token distribution where it should move nothing."""
