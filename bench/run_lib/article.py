"""The article's own table: milliseconds and request units of each request in its three versions.

From "How to model and partition data on Azure Cosmos DB using a real-world example", of 100,000 users
with 5 to 50 posts each, up to 25 comments and 100 likes on a post; text of May 2019.
"""

ADDRESS = 'https://learn.microsoft.com/azure/cosmos-db/how-to-model-partition-example'

# code -> (ms, request units) of V1, V2, V3
TABLE = {
	'C1': ((7, 5.71), (7, 5.71), (7, 5.71)),
	'Q1': ((2, 1), (2, 1), (2, 1)),
	'C2': ((9, 8.76), (9, 8.76), (9, 8.76)),
	'Q2': ((9, 19.54), (2, 1), (2, 1)),
	'Q3': ((130, 619.41), (28, 201.54), (4, 6.46)),
	'C3': ((7, 8.57), (7, 15.27), (7, 15.27)),
	'Q4': ((23, 27.72), (4, 7.72), (4, 7.72)),
	'C4': ((6, 7.05), (7, 14.67), (7, 14.67)),
	'Q5': ((59, 58.92), (4, 8.92), (4, 8.92)),
	'Q6': ((306, 2063.54), (83, 532.33), (9, 16.97)),
}
