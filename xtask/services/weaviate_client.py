"""The official client of Weaviate against an emulated server, as far as it speaks HTTP.

Its searches, batches and lists of tenants are gRPC, which is not emulated. So tenants are asked for one by one, and searches
are GraphQL, sent with the client's own method for that.
"""

import sys
from urllib.parse import urlsplit

import weaviate
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.classes.init import Auth
from weaviate.classes.tenants import Tenant
from weaviate.exceptions import UnexpectedStatusCodeError

from checks import Checks

check = Checks()
CLASS = "Film"
IDS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(4)]


def connect(key):
    """A client of the server, which does without gRPC."""
    address = urlsplit(sys.argv[1])
    return weaviate.connect_to_custom(
        http_host=address.hostname,
        http_port=address.port,
        http_secure=False,
        grpc_host=address.hostname,
        # Nothing listens there.
        grpc_port=1,
        grpc_secure=False,
        auth_credentials=Auth.api_key(key),
        skip_init_checks=True,
    )


def films(client):
    """The objects of one tenant."""
    return client.collections.use(CLASS).with_tenant("tenant-1")


def query(client, arguments, fields="title"):
    """The objects that a search in GraphQL finds."""
    text = f'{{ Get {{ {CLASS}(tenant: "tenant-1", {arguments}) {{ {fields} }} }} }}'
    answer = client.graphql_raw_query(text)
    assert not answer.errors, answer.errors
    return answer.get[CLASS]


@check
def reports_its_version(client):
    assert client.get_meta()["version"].startswith("1."), client.get_meta()


@check
def creates_a_collection(client):
    client.collections.create(
        CLASS,
        vector_index_config=Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE),
        vectorizer_config=Configure.Vectorizer.none(),
        multi_tenancy_config=Configure.multi_tenancy(enabled=True),
        inverted_index_config=Configure.inverted_index(bm25_b=0.0, bm25_k1=1.2),
        properties=[
            Property(name="title", data_type=DataType.TEXT, tokenization=Tokenization.FIELD),
            Property(name="words", data_type=DataType.TEXT, tokenization=Tokenization.WHITESPACE),
            Property(name="year", data_type=DataType.NUMBER),
        ],
    )
    assert client.collections.exists(CLASS)
    assert not client.collections.exists("Other")
    config = client.collections.use(CLASS).config.get()
    assert config.multi_tenancy_config.enabled
    tokenization = {one.name: one.tokenization for one in config.properties}
    assert tokenization["words"] == Tokenization.WHITESPACE, tokenization


@check
def refuses_a_second_one(client):
    try:
        client.collections.create(CLASS, vectorizer_config=Configure.Vectorizer.none())
    except UnexpectedStatusCodeError as error:
        assert error.status_code == 422, error
    else:
        raise AssertionError("it was created twice")


@check
def creates_tenants(client):
    tenants = client.collections.use(CLASS).tenants
    tenants.create([Tenant(name="tenant-1"), Tenant(name="tenant-2")])


@check
def inserts(client):
    data = films(client).data
    rows = [("First", "a b c", 2020, [1.0, 0.0]), ("Second", "b b", 2021, [0.6, 0.8])]
    for number, (title, words, year, vector) in enumerate(rows):
        properties = {"title": title, "words": words, "year": year}
        data.insert(properties=properties, uuid=IDS[number], vector=vector)
    data.insert(properties={"title": "Third", "year": 2022}, uuid=IDS[2])
    assert data.exists(IDS[1]) and not data.exists(IDS[3])


@check
def refuses_an_id_that_exists(client):
    try:
        films(client).data.insert(properties={"title": "Again"}, uuid=IDS[0])
    except UnexpectedStatusCodeError as error:
        assert error.status_code == 422 and "already exists" in str(error), error
    else:
        raise AssertionError("it was inserted twice")


@check
def finds_by_vector(client):
    found = query(client, "limit: 1, nearVector: {vector: [0.5, 0.9]}", "title _additional { id }")
    assert found == [{"title": "Second", "_additional": {"id": IDS[1]}}], found


@check
def finds_by_words(client):
    found = query(client, 'limit: 2, bm25: {query: "b", properties: ["words"]}')
    assert [one["title"] for one in found] == ["Second", "First"], found
    assert query(client, 'bm25: {query: "B", properties: ["words"]}') == []


@check
def filters(client):
    cases = [
        ('{path: ["title"], operator: ContainsAny, valueText: ["First", "Third"]}', {"First", "Third"}),
        ('{path: ["words"], operator: ContainsAll, valueText: ["a", "c"]}', {"First"}),
        ('{path: ["year"], operator: GreaterThanEqual, valueNumber: 2021}', {"Second", "Third"}),
        (
            '{operator: And, operands: [{path: ["year"], operator: LessThan, valueNumber: 2022},'
            ' {path: ["title"], operator: Equal, valueText: "Second"}]}',
            {"Second"},
        ),
    ]
    for condition, expected in cases:
        found = {one["title"] for one in query(client, f"where: {condition}")}
        assert found == expected, (condition, found)


@check
def counts(client):
    text = f'{{ Aggregate {{ {CLASS}(tenant: "tenant-1") {{ meta {{ count }} }} }} }}'
    answer = client.graphql_raw_query(text)
    assert answer.aggregate[CLASS] == [{"meta": {"count": 3}}], answer


@check
def keeps_tenants_apart(client):
    text = f'{{ Get {{ {CLASS}(tenant: "tenant-2") {{ title }} }} }}'
    assert client.graphql_raw_query(text).get[CLASS] == []
    text = f'{{ Get {{ {CLASS}(tenant: "tenant-3") {{ title }} }} }}'
    assert client.graphql_raw_query(text).errors


@check
def deletes(client):
    data = films(client).data
    assert data.delete_by_id(IDS[0])
    assert not data.exists(IDS[0])
    client.collections.use(CLASS).tenants.remove(["tenant-1"])
    text = f'{{ Get {{ {CLASS}(tenant: "tenant-1") {{ title }} }} }}'
    assert client.graphql_raw_query(text).errors
    client.collections.delete(CLASS)
    assert not client.collections.exists(CLASS)


@check
def is_refused_with_another_key(_):
    try:
        with connect("another") as other:
            other.get_meta()
    except Exception as error:
        assert "401" in str(error), error
    else:
        raise AssertionError("another key was accepted")


with connect(sys.argv[2]) as connected:
    check.run(connected)
