//! How well questions are answered.

use std::path::PathBuf;

use super::{
    corpus::{Corpus, CorpusSettings, GivenPath, Listed, Role},
    eval::Questions,
    *,
};

fn decision_gate() -> Docs {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/decision-gate");
    let documents = [
        (
            "evidence-flow",
            Role::Reasoning,
            "guides/evidence_flow_and_execution_model.md",
        ),
        ("security", Role::Reasoning, "guides/security_guide.md"),
        (
            "tooling",
            Role::Decision,
            "generated/decision-gate/tooling.md",
        ),
        (
            "authoring",
            Role::Ontology,
            "generated/decision-gate/authoring.md",
        ),
        (
            "conditions",
            Role::Ontology,
            "guides/condition_authoring.md",
        ),
        ("ret-logic", Role::Ontology, "guides/ret_logic.md"),
        (
            "llm-playbook",
            Role::Decision,
            "guides/llm_native_playbook.md",
        ),
        (
            "providers",
            Role::Ontology,
            "generated/decision-gate/providers.md",
        ),
        (
            "provider-protocol",
            Role::Pattern,
            "guides/provider_protocol.md",
        ),
        (
            "provider-schema",
            Role::Pattern,
            "guides/provider_schema_authoring.md",
        ),
        (
            "provider-development",
            Role::Pattern,
            "guides/provider_development.md",
        ),
        (
            "json-evidence",
            Role::Pattern,
            "guides/json_evidence_playbook.md",
        ),
        (
            "runpack-architecture",
            Role::Reasoning,
            "architecture/decision_gate_runpack_architecture.md",
        ),
    ];
    let listed = documents.map(|(slug, role, path)| Listed {
        path: GivenPath {
            written: path.to_owned(),
            location: folder.join("Docs").join(path),
        },
        slug: Some(slug.to_owned()),
        title: None,
        role,
        description: None,
    });
    let settings = CorpusSettings {
        include_embedded: false,
        listed: listed.to_vec(),
        extra_paths: Vec::new(),
        max_doc_bytes: 262_144,
        max_total_bytes: 1_048_576,
        max_docs: 32,
    };
    let corpus = Corpus::load(&settings, &[]);
    assert_eq!(corpus.skipped, []);
    Docs::new("decision-gate", 10, corpus)
}

#[test]
fn questions_about_decision_gate() {
    let docs = decision_gate();
    let text = include_str!("../../../../../examples/decision-gate/questions.toml");
    let questions: Questions = toml::from_str(text).unwrap();
    let evaluation = docs.evaluate(&questions.questions).unwrap();
    assert_eq!(evaluation.wrong_labels, []);
    for (question, rank) in questions.questions.iter().zip(&evaluation.ranks) {
        if *rank != Some(1) {
            let answered = docs
                .search(&question.ask, Some(3), true, &CallContext::without_client())
                .unwrap();
            println!("{rank:?} {}\n    want {:?}", question.ask, question.expect);
            for section in answered.shown() {
                println!("    {}", section.uri);
            }
        }
    }
    println!(
        "hit@1 {} hit@3 {} hit@10 {} mrr {}",
        evaluation.hit_at(1),
        evaluation.hit_at(3),
        evaluation.hit_at(10),
        evaluation.reciprocal_rank()
    );
    assert!(evaluation.hit_at(1) >= 750 && evaluation.hit_at(3) >= 900);
}
