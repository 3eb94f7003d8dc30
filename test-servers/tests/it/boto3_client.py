"""Asks an S3 server what it does, with the client that the makers of S3 publish."""

import sys
import threading

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

endpoint, access_key, secret_key, part = sys.argv[1:]
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    region_name="us-east-1",
    aws_access_key_id=access_key,
    aws_secret_access_key=secret_key,
    config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
)
BUCKET = "bucket"


def put(key, body, **conditions):
    return client.put_object(Bucket=BUCKET, Key=key, Body=body, **conditions)["ETag"]


def refused(status, code, call):
    try:
        call()
    except ClientError as error:
        response = error.response
        found = (response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"])
        assert found == (status, code), found
    else:
        raise AssertionError(f"carried out instead of {status} {code}")


def conditions():
    first = put("a", b"1", IfNoneMatch="*")
    refused(412, "PreconditionFailed", lambda: put("a", b"2", IfNoneMatch="*"))
    second = put("a", b"2", IfMatch=first)
    assert first != second
    refused(412, "PreconditionFailed", lambda: put("a", b"3", IfMatch=first))
    refused(404, "NoSuchKey", lambda: put("b", b"3", IfMatch=first))
    assert client.get_object(Bucket=BUCKET, Key="a")["Body"].read() == b"2"
    get = lambda **more: client.get_object(Bucket=BUCKET, Key="a", **more)
    refused(304, "304", lambda: get(IfNoneMatch=second))
    assert get(IfNoneMatch=first)["ETag"] == second
    refused(412, "PreconditionFailed", lambda: get(IfMatch=first))
    assert put("a", b"1", IfMatch=second) == first
    client.delete_object(Bucket=BUCKET, Key="a")
    refused(404, "NoSuchKey", lambda: put("a", b"3", IfMatch=first))
    assert put("a", b"1", IfNoneMatch="*") == first


def objects():
    for key in ["a/1", "a/2", "a/b/3", "a/b/4", "c", "a +%&"]:
        put(key, key.encode())
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    pages = list(pages)
    assert len(pages) == 3, len(pages)
    found = [one for page in pages for one in page["Contents"]]
    assert [one["Key"] for one in found] == ["a +%&", "a/1", "a/2", "a/b/3", "a/b/4", "c"]
    assert all(one["ETag"] and one["Size"] == len(one["Key"]) for one in found)
    listed = client.list_objects_v2(Bucket=BUCKET, StartAfter="a/b/3")
    assert [one["Key"] for one in listed["Contents"]] == ["a/b/4", "c"]
    pages = client.get_paginator("list_objects_v2")
    pages = list(pages.paginate(Bucket=BUCKET, Prefix="a/", Delimiter="/"))
    groups = [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", [])]
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    assert (groups, keys) == (["a/b/"], ["a/1", "a/2"])
    part = client.get_object(Bucket=BUCKET, Key="a/b/3", Range="bytes=2-3")
    assert part["Body"].read() == b"b/" and part["ContentRange"] == "bytes 2-3/5"
    head = client.head_object(Bucket=BUCKET, Key="a/1")
    # A header has whole seconds only.
    assert head["LastModified"] == found[1]["LastModified"].replace(microsecond=0)
    assert head["ContentLength"] == 3
    doomed = [{"Key": key} for key in ["a/1", "never", "c"]]
    deleted = client.delete_objects(Bucket=BUCKET, Delete={"Objects": doomed})
    assert len(deleted["Deleted"]) == 3 and "Errors" not in deleted
    refused(404, "NoSuchKey", lambda: client.get_object(Bucket=BUCKET, Key="c"))
    refused(404, "NoSuchBucket", lambda: client.list_objects_v2(Bucket="nowhere"))
    other = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=access_key,
        aws_secret_access_key="wrong",
    )
    refused(403, "SignatureDoesNotMatch", lambda: other.get_object(Bucket=BUCKET, Key="a/2"))


def race():
    put("counter", b"0")

    def count():
        won = 0
        while won < 10:
            found = client.get_object(Bucket=BUCKET, Key="counter")
            after = int(found["Body"].read()) + 1
            try:
                put("counter", str(after).encode(), IfMatch=found["ETag"])
                won += 1
            except ClientError as error:
                assert error.response["Error"]["Code"] == "PreconditionFailed"

    threads = [threading.Thread(target=count) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


if part == "write":
    try:
        put("a", b"written", IfNoneMatch="*")
        print("passed")
    except (ConnectionError, HTTPClientError):
        print("no answer")
    except ClientError as error:
        print(error.response["Error"]["Code"])
else:
    {"conditions": conditions, "objects": objects, "race": race}[part]()
    print("passed")
