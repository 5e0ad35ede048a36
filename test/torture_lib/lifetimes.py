"""The times at which posts were created, hidden, shown and deleted by any
client.

An answer is judged by what was acknowledged before the command was sent. Both
states are possible between the time at which a change was first sent and its
acknowledgement.
"""

from time import monotonic


class Change:
	"""A change of a post to hidden or shown."""

	def __init__(self, hidden):
		self.hidden = hidden
		self.acknowledged = None	# when it was acknowledged

	def ends_before(self, started):
		"""Return whether the state before this change had ended then."""
		return self.acknowledged is not None and self.acknowledged < started


class Lifetimes:
	"""The times of all posts. An id is used once only."""

	def __init__(self):
		self.born = {}			# post -> when its creation was acknowledged
		self.doomed = {}		# post -> when its deletion was first sent
		self.dead = {}			# post -> when its deletion was acknowledged
		self._changes = {}		# post -> its changes, in their order

	def may_be_missing(self, post, started):
		"""Return whether a command sent then may miss the post."""
		return post in self.doomed or self.born.get(post, started) >= started

	def must_be_missing(self, post, started):
		"""Return whether a command sent then must miss the post."""
		return self.dead.get(post, started) < started

	# -- hidden or shown: only the owner of a post changes that -----------

	def change(self, post, hidden):
		"""Note that the post is about to be hidden, shown, or created so."""
		self._changes.setdefault(post, []).append(Change(hidden))

	def acknowledge(self, post):
		"""Note that the last change was acknowledged."""
		self._changes[post][-1].acknowledged = monotonic()

	def _may_be(self, hidden, post, started):
		changes = list(self._changes.get(post, ()))
		after = [*changes[1:], None]
		return not changes or any(
			change.hidden == hidden and (following is None or not following.ends_before(started))
			for change, following in zip(changes, after))

	def may_be_hidden(self, post, started):
		"""Return whether a command sent then may find the post hidden."""
		return self._may_be(True, post, started)

	def may_be_shown(self, post, started):
		"""Return whether a command sent then may find the post shown."""
		return self._may_be(False, post, started)
