"""Samples of what goes wrong when it is typed: numbers, grammar, references, letters and paths."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


NUMBERS = [
    *_words(
        r"""
        0 -0 -1 1 2 7 31 32 100 1.0 0.5 .5 5. 1e-3 1e-400 1e400 -1e308 1e308 nan NaN inf -inf +1 0x10 0o17 0b1 1_000
        1__0 2147483647 2147483648 4294967296 9223372036854775808 1000000000000 1e12 1e30
        """
    ),
    *("9" * 400, "9" * 5000, "0." + "0" * 400 + "1"),
    *("\uff11\uff12", "\u0661\u0662", "\U0001d7cf\U0001d7ce", "\xbd"),  # digits of other kinds, and a half
]

GRAMMAR = [
    *_words(
        r"""
        null NULL ~ true yes on ??? - -- = == : , ,, # % * @x [] {} [1,2 1,2] [,] [1,,2] [[1,2],[3]] [null] [{}]
        [a,1,2.5,true] {a:1} {a} {a:{b:[1,{c:2}]}} {1:2} {null:1} {a:1,a:2} {'':1} {${x}:1} ( ) () ' " \ '' 'a a'b
        \' '\' \\ a=b a,b 1,1 1,x null,null a:b a@b a/b range(3) range(1,3) range(0,5,0) range(3,1)
        range(1,100000000) range(0,1,1e-12) range(x) glob(*) glob(c*) glob([a*],exclude=*) choice(1,2) choice()
        interval(0,1) shuffle(1,2) sort(3,1) sort(1,a) tag(a,1,2) extend_list(1) int(x) int(1e400) int(3.5)
        float(nan) str(1) bool(2) json_str('{') json_str({a:1}) eval(1) __import__(os)
        """
    ),
    *("", " ", "a b", " a", "a ", "[" * 60 + "]" * 60, "{a:" * 40 + "1" + "}" * 40, "1," * 40 + "1"),
    *("[" * 3000 + "]" * 3000, "[" * 3000, "a," * 3000, "a" * 100_000, "1" * 100_000),
]

REFERENCES = _words(
    r"""
    ${ ${} $ $x ${.} ${..} ${...x} ${x ${search.trials} ${search} ${nope} ${.trials} ${search.nope}
    ${model.name} ${search.trials}${search.trials} ${${model.name}} a${model.name}b ${oc.env:NO_SUCH}
    ${oc.env:NO_SUCH,3} ${oc.env:NO_SUCH,null} ${oc.env:HOME} ${oc.env:} ${oc.env:1,2,3} ${oc.select:x}
    ${oc.select:x,3} ${oc.decode:'['} ${oc.decode:'[1,2]'} ${oc.decode:${oc.env:NO_SUCH}} ${oc.create:[1,2]}
    ${oc.create:{a:1}} ${oc.dict.keys:search} ${oc.dict.values:.} ${oc.dict.values:search}
    ${oc.deprecated:search.trials} ${oc.deprecated:nope} ${hydra:job.name} ${hydra:nope} ${hydra:} ${now:%Y}
    ${now:} ${python_version:} ${python_version:x} ${eval:1} ${a:b:c} \${x} \\${x} ${hw} ${data.args}
    ${model.widths} ${model.widths[0]} ${model.widths[99]} ${model[name]}
    """
)

LETTERS = [
    *("café", "naïve ☃", "😀", "漢字", "\ufb00", "\uff21\uff22", "\u0430d\u0430m", "e" + "\u0301" * 50, "\U0010ffff"),
    *("\u202egnp", "\u200f", "\u200b", "\ufeff", "\u2028", "\x85", "\uffff", "\U000e0041"),  # seen by no one
    *("\udcff", "caf\udce9"),  # as Python has bytes that are no UTF-8
    *("a\nb", "\n", "\r", "a\r\nb", "\t", "\x0b", "\x0c", "\x1b[31mred\x1b[0m", "\x07", "\x7f", "\x01"),
]

PATHS = [
    *_words(
        r"""
        .. . / // ../x ../../../../etc/passwd /etc/passwd /dev/null /dev/zero /proc/self/mem ~ ~/x ~nobody/x a/../b
        ./x x.yaml x/ C:\x \\host\x file:///etc/passwd file:x http://h/x http://u:p@h/ sqlite:///x.db sqlite://
        sqlite:/// sqlite:///:memory: postgresql:// :// s3://b pkg://os
        """
    ),
    *("a" * 300, "a/" * 2000),
]
