"""The words of a listing and of a question, as search reads them: folded, stemmed, without stop words.

Apart from the ranker, because the crawler computes fingerprints and must not load numpy.
"""
