"""The times at which posts and comments were created, hidden, shown and
deleted by any client.

An answer is judged by what was acknowledged before the command was sent. Both
states are possible between the time at which a change was first sent and its
acknowledgement.
"""

from datetime import datetime, timezone
from time import monotonic


class Change:
	"""A change of a post or comment to hidden or shown."""

	def __init__(self, hidden, due):
		self.hidden = hidden
		self.due = due				# the date at which the worker makes it, or None
		self.acknowledged = None	# when it was acknowledged

	def ends_before(self, started):
		"""Return whether the state before this change had ended then."""
		return self.acknowledged is not None and self.acknowledged < started


class Lifetimes:
	"""The times of all posts and comments. An id is used once only. The deletion
	of a post is not noted for the comments on it."""

	def __init__(self):
		self.born = {}			# item -> when its creation was acknowledged
		self.doomed = {}		# item -> when its deletion was first sent
		self.dead = {}			# item -> when its deletion was acknowledged
		self._changes = {}		# item -> its changes, in their order

	def may_be_missing(self, item, started):
		"""Return whether a command sent then may miss the item."""
		return item in self.doomed or self.born.get(item, started) >= started

	def must_be_missing(self, item, started):
		"""Return whether a command sent then must miss the item."""
		return self.dead.get(item, started) < started

	# -- hidden or shown: only the owner of an item changes that ----------

	def change(self, item, hidden, due=None):
		"""Note that the item is about to be hidden, shown, or created so."""
		self._changes.setdefault(item, []).append(Change(hidden, due))

	def acknowledge(self, item, scheduled=False):
		"""Note that the last change was acknowledged, or if the worker is to
		make that one, the change before it."""
		self._changes[item][-2 if scheduled else -1].acknowledged = monotonic()

	def _may_be(self, hidden, item, started):
		now = datetime.now(timezone.utc)
		changes = [change for change in list(self._changes.get(item, ())) if change.due is None or change.due <= now]
		return not changes or any(
			change.hidden == hidden and not any(later.ends_before(started) for later in changes[place + 1:])
			for place, change in enumerate(changes))

	def may_be_hidden(self, item, started):
		"""Return whether a command sent then may find the item hidden."""
		return self._may_be(True, item, started)

	def may_be_shown(self, item, started):
		"""Return whether a command sent then may find the item shown."""
		return self._may_be(False, item, started)
