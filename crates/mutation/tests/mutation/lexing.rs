//! The tokens of programs, as a line of their kinds.

use proofmark_checks::Language;
use proofmark_mutation::limits::{MAX_DEPTH, MAX_SOURCE_BYTES};
use proofmark_mutation::{Kind, LexError, Tokens};

/// The tokens that are not spaces, each with the first letters of its kind.
fn shown(language: &str, text: &str) -> String {
    let tokens = Tokens::read(language.parse().unwrap(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let shown = tokens.all().iter().enumerate().filter(|(_, token)| token.kind != Kind::Space).map(|(index, token)| {
        let mark = match token.kind {
            Kind::Newline => return "⏎".to_owned(),
            Kind::Operator | Kind::Open | Kind::Close => return tokens.text(index).to_owned(),
            Kind::Comment => "comment",
            Kind::Name => return tokens.text(index).to_owned(),
            Kind::Number => "num",
            Kind::String => "str",
            Kind::Heredoc => "heredoc",
            Kind::Symbol => "sym",
            Kind::Regex => "re",
            Kind::Head => "head",
            Kind::Middle => "mid",
            Kind::Tail => "tail",
            Kind::Markup => "jsx",
            Kind::Space => unreachable!(),
        };
        format!("{mark}‹{}›", tokens.text(index).trim_end_matches('\n'))
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn python() {
    for (text, tokens) in [
        ("x = 1 # one\n", "x = num‹1› comment‹# one› ⏎"),
        ("if a:\n    b\n\n# c\n  \nd", "if a : ⏎ b ⏎ comment‹# c› d"),
        ("f(1,\n  2)\n", "f ( num‹1› , num‹2› ) ⏎"),
        ("a = 1 + \\\n 2\n", "a = num‹1› + num‹2› ⏎"),
        ("rb'\\'' + B\"x\" + u'é'", "str‹rb'\\''› + str‹B\"x\"› + str‹u'é'›"),
        ("'''a\n'b' '''", "str‹'''a\n'b' '''›"),
        ("'a\\\nb'", "str‹'a\\\nb'›"),
        (
            "1.5e-3j + 0xFF_f + .5 + 1. + 1_000 + 1e5",
            "num‹1.5e-3j› + num‹0xFF_f› + num‹.5› + num‹1.› + num‹1_000› + num‹1e5›",
        ),
        ("x[1:2]", "x [ num‹1› : num‹2› ]"),
        ("f'a'", "str‹f'a'›"),
        ("f'a{b}c{d}e'", "head‹f'a{› b mid‹}c{› d tail‹}e'›"),
        ("f'{{{a!r:>{w}.{p}f}}}'", "head‹f'{{{› a ! r mid‹:>{› w mid‹}.{› p tail‹}f}}}'›"),
        ("f'{x:{y:{z}}}' + 1", "head‹f'{› x mid‹:{› y mid‹:{› z tail‹}}}'› + num‹1›"),
        (
            "f\"{d[\"k\"]} {(lambda a: {1: 2})(3)}\"",
            "head‹f\"{› d [ str‹\"k\"› ] mid‹} {› ( lambda a : { num‹1› : num‹2› } ) ( num‹3› ) tail‹}\"›",
        ),
        ("f'\\N{BULLET} {a}'", "head‹f'\\N{BULLET} {› a tail‹}'›"),
        ("a != b is not c // 2 ** 3", "a != b is not c // num‹2› ** num‹3›"),
        ("\u{feff}a", "a"),
        ("größe = ...", "größe = ..."),
        ("@d\ndef f(x: int) -> str: pass", "@ d ⏎ def f ( x : int ) -> str : pass"),
    ] {
        assert_eq!(shown("python", text), tokens, "{text}");
    }
}

#[test]
fn javascript() {
    for (text, tokens) in [
        ("let a = b / c / d;", "let a = b / c / d ;"),
        ("a = /[/]\\//g.test(x)", "a = re‹/[/]\\//g› . test ( x )"),
        ("return /x/", "return re‹/x/›"),
        ("o.return / 2 / 1", "o . return / num‹2› / num‹1›"),
        ("if (a) /b/.test(c)", "if ( a ) re‹/b/› . test ( c )"),
        ("(a) / b / c", "( a ) / b / c"),
        ("f() {} /b/", "f ( ) { } re‹/b/›"),
        ("x = {} / b / c", "x = { } / b / c"),
        ("a++ / b", "a ++ / b"),
        ("x! / y! / z", "x ! / y ! / z"),
        ("a\n/b/c", "a ⏎ / b / c"),
        ("`a`", "str‹`a`›"),
        ("`a${b}c${`d${e}`}f`", "head‹`a${› b mid‹}c${› head‹`d${› e tail‹}`› tail‹}f`›"),
        ("`${{a: 1}.a}` / 2", "head‹`${› { a : num‹1› } . a tail‹}`› / num‹2›"),
        ("// a\n/* b\n*/ c", "comment‹// a› comment‹/* b\n*/› c"),
        ("#!/usr/bin/node\na", "comment‹#!/usr/bin/node› a"),
        ("this.#x = 1n", "this . #x = num‹1n›"),
        ("a?.b ?? c ? 'd' : \"e\"", "a ?. b ?? c ? str‹'d'› : str‹\"e\"›"),
        ("a >>>= b ** c !== d", "a >>>= b ** c !== d"),
        ("{ a\nb }", "{ a ⏎ b }"),
        ("(a,\nb)", "( a , b )"),
        ("x = <a/>;", "x = jsx‹<a/>› ;"),
        (
            "x = <a b=\"1>\" c={d > 1} {...e}>text {f} <b>it's</b></a> / 2",
            concat!(
                "x = jsx‹<a b=\"1>\" c=› { d > num‹1› } jsx‹ › { ... e } jsx‹>› jsx‹text › { f } jsx‹ › jsx‹<b>› jsx‹it's› jsx‹</b>› ",
                "jsx‹</a>› / num‹2›"
            ),
        ),
        ("<></>", "jsx‹<>› jsx‹</>›"),
        ("f(a < b, c > d)", "f ( a < b , c > d )"),
    ] {
        assert_eq!(shown("javascript", text), tokens, "{text}");
    }
    assert_eq!(shown("typescript", "x = <T>(a: T) => <B>a"), "x = < T > ( a : T ) => < B > a");
}

#[test]
fn ruby() {
    for (text, tokens) in [
        ("def a?(b) = b.nil? ? 1 : 2\n", "def a? ( b ) = b . nil? ? num‹1› : num‹2› ⏎"),
        ("x = %w[a b [c] d] + %i(a) + %q{a}", "x = str‹%w[a b [c] d]› + str‹%i(a)› + str‹%q{a}›"),
        ("a % b", "a % b"),
        ("a %(b)", "a str‹%(b)›"),
        ("x % (3)", "x % ( num‹3› )"),
        ("a / b / c", "a / b / c"),
        ("puts /x\\//i", "puts re‹/x\\//i›"),
        ("x =~ /a#{b}c/", "x =~ head‹/a#{› b tail‹}c/›"),
        ("\"a#{b.map { |c| \"#{c}\" }}d\"", "head‹\"a#{› b . map { | c | head‹\"#{› c tail‹}\"› } tail‹}d\"›"),
        ("'a#{b}\\''", "str‹'a#{b}\\''›"),
        (
            "f(<<~A, <<-'B')\n a #{1}\n A\nb\n  B\nc",
            "f ( str‹<<~A› , str‹<<-'B'› ) ⏎ heredoc‹ a #{1}\n A› heredoc‹b\n  B› c",
        ),
        ("a << b\nclass << self\n", "a << b ⏎ class << self ⏎"),
        ("x = <<EOS\nhi\nEOS\n", "x = str‹<<EOS› ⏎ heredoc‹hi\nEOS›"),
        ("{ a: 1, :b => :c?, \"d\": 2 }", "{ a : num‹1› , sym‹:b› => sym‹:c?› , str‹\"d\"› : num‹2› }"),
        ("[:+, :<=>, :[], :a=, A::B]", "[ sym‹:+› , sym‹:<=>› , sym‹:[]› , sym‹:a=› , A :: B ]"),
        ("@a ||= $b + @@c", "@a ||= $b + @@c"),
        ("1..2", "num‹1› .. num‹2›"),
        ("1.5e3 + 1_000r", "num‹1.5e3› + num‹1_000r›"),
        ("x = ?a", "x = str‹?a›"),
        ("when ?\"\nthen ?\\e.ord", "when str‹?\"› ⏎ then str‹?\\e› . ord"),
        ("[:$,, :$\\]", "[ sym‹:$,› , sym‹:$\\› ]"),
        ("f(a do\n b()\n %(c)\nend)", "f ( a do ⏎ b ( ) ⏎ str‹%(c)› ⏎ end )"),
        ("=begin\nx\n=end\na", "comment‹=begin\nx\n=end› a"),
        ("a\n__END__\n'", "a ⏎ comment‹__END__\n'›"),
        ("def ==(o); end", "def == ( o ) ; end"),
        ("def /(o); end", "def / ( o ) ; end"),
        ("a &.b(&:c)", "a &. b ( & sym‹:c› )"),
        ("a != b", "a != b"),
        ("$! $1 $stderr", "$! $1 $stderr"),
    ] {
        assert_eq!(shown("ruby", text), tokens, "{text}");
    }
}

#[test]
fn bash() {
    for (text, tokens) in [
        ("a=$(( $1 + 2 )) # c\n", "a = $ ( ( $1 + num‹2› ) ) comment‹# c› ⏎"),
        ("echo \"a $(b \"c\") d\" 'e'", "echo head‹\"a $(› b str‹\"c\"› tail‹) d\"› str‹'e'›"),
        ("case $1 in\n a) b;;\nesac", "case $1 in ⏎ a ) b ;; ⏎ esac"),
        ("echo ${#a} $# ${a#b}", "echo $ { # a } $# $ { a # b }"),
        ("cat <<EOF\n$(\nEOF\nx", "cat str‹<<EOF› ⏎ heredoc‹$(\nEOF› x"),
        ("echo $((1 << n))", "echo $ ( ( num‹1› << n ) )"),
        ("[[ $a -lt 3 && -n $b ]]", "[ [ $a - lt num‹3› && - n $b ] ]"),
    ] {
        assert_eq!(shown("bash", text), tokens, "{text}");
    }
}

#[test]
fn brackets_and_literals_have_partners() {
    let tokens = Tokens::read(Language::Python, "f(a[1], f'{b}')").unwrap();
    let partner = |text: &str| {
        let index = (0..tokens.all().len()).find(|index| tokens.text(*index) == text).unwrap();
        tokens.text(tokens.get(index).unwrap().partner.unwrap())
    };
    assert_eq!(partner("("), ")");
    assert_eq!(partner("]"), "[");
    assert_eq!(partner("f'{"), "}'");
    assert_eq!(tokens.text_of(tokens.inside(1).unwrap()), "a[1], f'{b}'");
}

#[test]
fn logical_lines_have_their_indentation() {
    let tokens =
        Tokens::read(Language::Python, "def f(\n  a):\n\tif a:\n\n        # c\n\t    return [\n1]\nx\n").unwrap();
    let lines: Vec<_> =
        tokens.logical_lines().into_iter().map(|line| (line.indent, tokens.text_of(line.tokens.clone()))).collect();
    assert_eq!(lines, [(0, "def f(\n  a):"), (8, "if a:"), (12, "return [\n1]"), (0, "x")]);
    let third = tokens.logical_lines()[2].tokens.start;
    assert_eq!(tokens.get(third).unwrap().line, 6);
    assert_eq!(tokens.place(tokens.get(third).unwrap().start).to_string(), "line 6, column 6");
}

#[test]
fn what_has_no_end_is_refused_with_its_place() {
    for (language, text, error) in [
        ("python", "a = 'b\n'", "the literal that begins at line 1, column 5 has no end"),
        ("python", "a\n '''b", "the literal that begins at line 2, column 2 has no end"),
        ("python", "(\n[", "the bracket that begins at line 2, column 1 has no end"),
        ("python", "f'{a", "the expression in the literal that begins at line 1, column 1 has no end"),
        ("python", "a)", "unexpected `)` at line 1, column 2"),
        ("python", "(]", "unexpected `]` at line 1, column 2"),
        ("python", "f'}'", "unexpected `}` at line 1, column 3"),
        ("python", "a ? b", "unexpected `?` at line 1, column 3"),
        ("javascript", "/* a", "the comment that begins at line 1, column 1 has no end"),
        ("javascript", "x = /a\n/", "the regular expression that begins at line 1, column 5 has no end"),
        ("javascript", "`a${b", "the expression in the literal that begins at line 1, column 1 has no end"),
        ("javascript", "x = <a b={1}", "the tag that begins at line 1, column 5 has no end"),
        ("javascript", "x = <a>", "the element that begins at line 1, column 5 has no end"),
        ("ruby", "x = <<~A\nb", "the heredoc that begins at line 2, column 1 has no end"),
        ("ruby", "=begin", "the comment that begins at line 1, column 1 has no end"),
        ("bash", "'", "the literal that begins at line 1, column 1 has no end"),
    ] {
        let refused = Tokens::read(language.parse().unwrap(), text).unwrap_err();
        assert_eq!(refused.to_string(), format!("split the program into tokens: {error}"), "{text}");
    }
}

#[test]
fn limits_are_errors() {
    let deep = "(".repeat(MAX_DEPTH + 1);
    assert!(matches!(Tokens::read(Language::Ruby, &deep), Err(LexError::TooDeep(_))));
    let templates = "`${".repeat(MAX_DEPTH + 1);
    assert!(matches!(Tokens::read(Language::JavaScript, &templates), Err(LexError::TooDeep(_))));
    let markup = format!("x={}", "<a>".repeat(MAX_DEPTH + 1));
    assert!(matches!(Tokens::read(Language::JavaScript, &markup), Err(LexError::TooDeep(_))));
    let long = " ".repeat(MAX_SOURCE_BYTES + 1);
    assert_eq!(Tokens::read(Language::Python, &long).unwrap_err(), LexError::TooLong(long.len()));
    let many = ";".repeat(MAX_SOURCE_BYTES);
    assert_eq!(Tokens::read(Language::Bash, &many).unwrap_err(), LexError::TooManyTokens);
}
