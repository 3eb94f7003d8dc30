"""The official client of Pinecone against an emulated index: the calls that its documentation shows."""

import sys

from pinecone import Pinecone
from pinecone.exceptions import PineconeException

from checks import Checks

check = Checks()
DIMENSION = 257


def vector(*values):
    """A vector that begins with these values."""
    return list(values) + [0.0] * (DIMENSION - len(values))


def refused(status, call):
    """Makes sure that a call fails with a status."""
    try:
        call()
    except PineconeException as error:
        found = getattr(error, "status_code", None) or getattr(error, "status", None)
        assert found == status, f"{found} instead of {status}: {error}"
    else:
        raise AssertionError(f"not refused with {status}")


@check
def upserts(index):
    answer = index.upsert(
        vectors=[
            {"id": "a/1", "values": vector(1.0), "metadata": {"genre": "comedy", "year": 2020}},
            {"id": "a/2", "values": vector(0.5, 1.0), "metadata": {"genre": "drama", "year": 2021}},
            {
                "id": "b/1",
                "values": vector(0.1),
                "sparse_values": {"indices": [7, 4294967295], "values": [0.5, 2.0]},
                "metadata": {"genre": "comedy", "year": 2022, "tags": ["x", "y"]},
            },
        ],
        namespace="films",
    )
    assert answer.upserted_count == 3, answer


@check
def describes_its_statistics(index):
    stats = index.describe_index_stats()
    assert stats.dimension == DIMENSION and stats.metric == "dotproduct", stats
    assert stats.namespaces["films"].vector_count == 3, stats
    assert stats.total_vector_count == 3, stats


@check
def queries_by_vector(index):
    found = index.query(vector=vector(1.0), top_k=2, namespace="films", include_metadata=True)
    assert [one.id for one in found.matches] == ["a/1", "a/2"], found
    assert abs(found.matches[1].score - 0.5) < 1e-6, found
    assert found.matches[0].metadata["genre"] == "comedy", found


@check
def queries_by_sparse_values(index):
    sparse = {"indices": [4294967295], "values": [3.0]}
    found = index.query(
        vector=vector(1.0), sparse_vector=sparse, top_k=1, namespace="films", include_values=True
    )
    assert found.matches[0].id == "b/1" and abs(found.matches[0].score - 6.1) < 1e-5, found
    assert found.matches[0].sparse_values.indices == [7, 4294967295], found


@check
def queries_with_filters(index):
    cases = [
        ({"genre": {"$eq": "comedy"}}, {"a/1", "b/1"}),
        ({"year": {"$gte": 2021, "$lte": 2022}}, {"a/2", "b/1"}),
        ({"genre": {"$in": ["drama"]}}, {"a/2"}),
        ({"$and": [{"genre": "comedy"}, {"year": {"$lt": 2021}}]}, {"a/1"}),
        ({"$or": [{"year": 2020}, {"tags": {"$in": ["y"]}}]}, {"a/1", "b/1"}),
        ({"tags": {"$exists": False}}, {"a/1", "a/2"}),
    ]
    for condition, expected in cases:
        found = index.query(vector=vector(1.0), top_k=10, namespace="films", filter=condition)
        assert {one.id for one in found.matches} == expected, (condition, found)


@check
def queries_by_id(index):
    found = index.query(id="a/2", top_k=1, namespace="films")
    assert found.matches[0].id == "a/2", found


@check
def fetches(index):
    found = index.fetch(ids=["a/1", "b/1", "none"], namespace="films")
    assert set(found.vectors) == {"a/1", "b/1"}, found
    assert found.vectors["b/1"].metadata["tags"] == ["x", "y"], found
    assert list(found.vectors["a/1"].values)[:2] == [1.0, 0.0], found


@check
def lists_by_prefix(index):
    ids = []
    for page in index.list(prefix="a/", limit=1, namespace="films"):
        for one in getattr(page, "vectors", page):
            ids.append(getattr(one, "id", one))
    assert ids == ["a/1", "a/2"], ids


@check
def updates(index):
    index.update(id="a/1", set_metadata={"year": 2030}, namespace="films")
    found = index.fetch(ids=["a/1"], namespace="films")
    assert found.vectors["a/1"].metadata == {"genre": "comedy", "year": 2030}, found


@check
def is_told_what_is_wrong(index):
    upsert = lambda values, **more: index.upsert(
        vectors=[{"id": "x", "values": values, **more}], namespace="films"
    )
    refused(400, lambda: upsert([1.0, 2.0]))
    refused(400, lambda: upsert(vector()))
    refused(400, lambda: upsert(vector(1.0), metadata={"long": "x" * 41_000}))


@check
def has_namespaces(index):
    names = {one.name for page in [index.list_namespaces_paginated()] for one in page.namespaces}
    assert "films" in names, names
    described = index.describe_namespace(namespace="films")
    assert int(described.record_count) == 3, described


@check
def deletes(index):
    index.delete(ids=["a/1"], namespace="films")
    index.delete(filter={"genre": {"$eq": "drama"}}, namespace="films")
    found = index.fetch(ids=["a/1", "a/2", "b/1"], namespace="films")
    assert set(found.vectors) == {"b/1"}, found
    index.delete_namespace(namespace="films")
    assert "films" not in index.describe_index_stats().namespaces
    found = index.query(vector=vector(1.0), top_k=1, namespace="films")
    assert list(found.matches) == [], found


@check
def is_refused_with_another_key(index):
    other = Pinecone(api_key="another").Index(host=sys.argv[1])
    refused(401, other.describe_index_stats)


check.run(Pinecone(api_key=sys.argv[2]).Index(host=sys.argv[1]))
