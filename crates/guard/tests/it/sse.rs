//! Streams of events are read alike wherever their parts end, and written as they were judged.

use proofmark_guard::{SseError, SseEvent, SseItem, SseReader};
use proptest::prelude::*;

fn read(stream: &[u8]) -> Vec<SseItem> {
    SseReader::default().push(stream).unwrap()
}

fn event(id: Option<&str>, name: Option<&str>, retry: Option<&str>, data: Option<&str>) -> SseItem {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    SseItem::Event(SseEvent {
        id: owned(id),
        name: owned(name),
        retry: owned(retry),
        data: data.map(|data| data.as_bytes().to_vec()),
    })
}

#[test]
fn every_end_of_a_line_ends_it_and_one_event_is_one_message() {
    let one = event(Some("7"), Some("message"), None, Some("{\"a\":\n1}"));
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["id: 7", "event: message", "data: {\"a\":", "data:1}", "", ""].join(end);
        assert_eq!(read(stream.as_bytes()), std::slice::from_ref(&one), "{end:?}");
    }
}

#[test]
fn what_is_no_event_is_told_apart() {
    let comment = |text: &str| SseItem::Comment(text.to_owned());
    assert_eq!(read(b": ping\r\n\r\n:\n\n"), [comment("ping"), comment("")]);
    assert_eq!(read(b"\xef\xbb\xbfid: 1\ndata:\n\n"), [event(Some("1"), None, None, Some(""))]);
    assert_eq!(read(b"retry: 500\n\n"), [event(None, None, Some("500"), None)]);
    // A line without a colon is a field without a value; unknown fields, ids with NUL and times that are none say nothing.
    assert_eq!(read(b"data\nfoo: bar\nid: a\0b\nretry: soon\n\n"), [event(None, None, None, Some(""))]);
    // What the stream ends in is not complete.
    assert_eq!(read(b"data: 1\n"), []);
    assert_eq!(read(b"\n\n\r\r"), []);
}

#[test]
fn what_is_too_long_ends_the_stream() {
    let mut reader = SseReader::default();
    assert_eq!(reader.push(format!("id: {}\n", "x".repeat(5_000)).as_bytes()), Err(SseError::FieldTooLong));
    let mut reader = SseReader::default();
    let part = vec![b'x'; 1 << 20];
    reader.push(b"data: ").unwrap();
    let refused = (0..70).find_map(|_| reader.push(&part).err());
    assert_eq!(refused, Some(SseError::TooLong));
    // So are many short lines of one event.
    let mut reader = SseReader::default();
    let part = b"data: 0123456789abcdef0123456789abcdef0123456789abcdef\n".repeat(20_000);
    assert_eq!((0..80).find_map(|_| reader.push(&part).err()), Some(SseError::TooLong));
}

#[test]
fn a_field_of_several_lines_does_not_become_other_fields() {
    let item = event(Some("1"), None, None, Some("raw"));
    assert_eq!(item.written(Some("a\nid: 2\r\n")), "id: 1\ndata: a\ndata: id: 2\ndata: \ndata: \n\n");
    assert_eq!(item.written(None), "id: 1\n\n", "data that was not judged is not written");
    assert!(SseEvent::message().is_message());
    let of = |name: &str| match event(None, Some(name), None, None) {
        SseItem::Event(event) => event.is_message(),
        SseItem::Comment(_) => false,
    };
    assert!(of("message") && !of("endpoint") && !of("Message"));
}

/// Bytes in which everything that matters to a reader of events is frequent.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"id: ".to_vec()),
        Just(b"event: ".to_vec()),
        Just(b"retry:".to_vec()),
        Just(b":".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn where_parts_end_makes_no_difference(stream in streams(), cuts in proptest::collection::vec(0usize..200, 0..12)) {
        let whole = read(&stream);
        let mut reader = SseReader::default();
        let (mut items, mut rest, mut at) = (Vec::new(), stream.as_slice(), 0);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.sort_unstable();
        for cut in cuts {
            let (part, after) = rest.split_at(cut - at);
            items.extend(reader.push(part).unwrap());
            (rest, at) = (after, cut);
        }
        items.extend(reader.push(rest).unwrap());
        prop_assert_eq!(items, whole);
    }

    #[test]
    fn what_is_written_reads_back(stream in streams()) {
        for item in read(&stream) {
            let data = match &item {
                SseItem::Event(event) => event.data.as_ref().map(|data| String::from_utf8_lossy(data).into_owned()),
                SseItem::Comment(_) => None,
            };
            let again = read(item.written(data.as_deref()).as_bytes());
            match (&item, again.as_slice()) {
                (SseItem::Comment(comment), [SseItem::Comment(again)]) => prop_assert_eq!(comment, again),
                (SseItem::Event(event), [SseItem::Event(again)]) => {
                    prop_assert_eq!((&event.id, &event.name, &event.retry), (&again.id, &again.name, &again.retry));
                    let read_back = again.data.as_ref().map(|data| String::from_utf8_lossy(data).into_owned());
                    prop_assert_eq!(data, read_back);
                }
                (item, again) => prop_assert!(false, "{:?} became {:?}", item, again),
            }
        }
    }
}
