"""When posts came, were hidden and shown, and went, for all clients.

An answer is judged by what was acknowledged before the command was sent. Between
the moment at which a change was first sent and its acknowledgement both states
are possible.
"""

from time import monotonic


class Change:
	"""A post becomes hidden, or is shown from now on."""

	def __init__(self, hidden):
		self.hidden = hidden
		self.acknowledged = None	# when

	def ends_before(self, started):
		"""Whether what was before it was over then."""
		return self.acknowledged is not None and self.acknowledged < started


class Lifetimes:
	"""Of all posts; ids are never used again."""

	def __init__(self):
		self.born = {}			# post -> when its creation was acknowledged
		self.doomed = {}		# post -> when its deletion was first sent
		self.dead = {}			# post -> when its deletion was acknowledged
		self._changes = {}		# post -> what has become of it, one Change after the other

	def may_be_missing(self, post, started):
		"""Whether a command sent then may have found no such post."""
		return post in self.doomed or self.born.get(post, started) >= started

	def must_be_missing(self, post, started):
		"""Whether a command sent then cannot have found it."""
		return self.dead.get(post, started) < started

	# -- hidden or shown: only the owner of a post changes that -----------

	def change(self, post, hidden):
		"""It is about to be hidden, or shown, or created so."""
		self._changes.setdefault(post, []).append(Change(hidden))

	def acknowledge(self, post):
		"""The last change was acknowledged."""
		self._changes[post][-1].acknowledged = monotonic()

	def _may_be(self, hidden, post, started):
		changes = list(self._changes.get(post, ()))
		after = [*changes[1:], None]
		return not changes or any(
			change.hidden == hidden and (following is None or not following.ends_before(started))
			for change, following in zip(changes, after))

	def may_be_hidden(self, post, started):
		"""Whether a command sent then may have found it hidden."""
		return self._may_be(True, post, started)

	def may_be_shown(self, post, started):
		"""Whether a command sent then may have found it shown."""
		return self._may_be(False, post, started)
