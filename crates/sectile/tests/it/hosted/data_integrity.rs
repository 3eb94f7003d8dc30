//! Data integrity tier: one read of one note a call, no writes, nothing kept.

use serde_json::json;

use crate::{
    fixture::{Caller, Era, More, TestHosted, error_of},
    vectors::TOOLS,
};

#[test]
fn a_call_is_one_read_and_nothing_is_written() {
    let hosted = TestHosted::sample();
    let folder = hosted.folder().root().parent().unwrap().to_path_buf();
    let home = folder.join("home");
    std::fs::create_dir(&home).unwrap();
    let home = home.to_str().unwrap();
    let names = [
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "TMPDIR",
    ];
    let environment = names.map(|name| (name, home));
    let gateway = hosted.serve_with(More {
        environment: &environment,
        ..More::default()
    });
    let before = hosted.folder().contents();
    let caller = Caller::named("ann");
    for era in Era::BOTH {
        for tool in TOOLS {
            for (path, reads) in [
                ("inbox/one.md", 1),
                ("none.md", 1),
                ("inbox", 1),
                ("../x.md", 0),
                ("", 0),
            ] {
                gateway.call(era, &caller, tool, json!({ "path": path }));
                let requests = gateway.requests();
                assert_eq!(requests.len(), reads, "{tool}, {path}");
                for request in requests {
                    assert_eq!(request.method, "GET");
                    assert!(request.target.starts_with("/api/v1/notes/"), "{request:?}");
                    assert_eq!(request.header("content-length"), None);
                    assert_eq!(request.header("transfer-encoding"), None);
                }
            }
        }
        for method in ["tools/list", "ping"] {
            gateway.post(era, &caller, &era.request(1, method, json!({})));
        }
        assert_eq!(gateway.requests(), []);
    }
    assert!(
        hosted.folder().contents() == before,
        "something was written"
    );
}

#[test]
fn the_next_call_sees_an_edit_and_a_deletion() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let texts = |path: &str| {
        let outline = gateway.view("get_note_outline", path);
        let headings = outline["headings"].as_array().unwrap();
        headings
            .iter()
            .map(|heading| heading["text"].clone())
            .collect::<Vec<_>>()
    };
    for turn in ["First", "Second"] {
        for tool in TOOLS {
            assert_eq!(error_of(&gateway.note(tool, "n.md")), "Upstream 404");
        }
        hosted.note("default", "ann", "n.md", format!("# {turn}\n"));
        assert_eq!(texts("n.md"), [turn]);
        hosted.note("default", "ann", "n.md", format!("# {turn}\n# More\n"));
        assert_eq!(texts("n.md"), [turn, "More"]);
        std::fs::remove_file(hosted.folder().root().join("default/ann/n.md")).unwrap();
    }
    assert_eq!(error_of(&gateway.note(TOOLS[0], "n.md")), "Upstream 404");
}
