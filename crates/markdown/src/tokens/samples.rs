//! Text that we wrote, with the number of tokens that the vocabulary `o200k` makes of it.

/// A sample: its name, its tokens and its text.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) tokens: usize,
    pub(super) text: &'static str,
}

/// The samples, one for each kind of text.
pub(super) const SAMPLES: [Sample; 6] = [
    Sample {
        name: "English prose",
        tokens: 403,
        text: ENGLISH,
    },
    Sample {
        name: "German prose",
        tokens: 495,
        text: GERMAN,
    },
    Sample {
        name: "Chinese prose",
        tokens: 448,
        text: CHINESE,
    },
    Sample {
        name: "Rust",
        tokens: 579,
        text: RUST,
    },
    Sample {
        name: "Python",
        tokens: 433,
        text: PYTHON,
    },
    Sample {
        name: "A note with front matter, tasks and a table",
        tokens: 357,
        text: MARKDOWN,
    },
];

const ENGLISH: &str = r#"The pump house stands at the lower end of the orchard, where the stream leaves our land. It was built before anyone wrote
things down, and nobody is quite sure which of the three pipes still carries water. In the spring of last year we dug a
trench along the wall and found that the oldest pipe had been cut, probably when the new road was made. The other two are
sound. We replaced the valve, cleaned the filter and painted the door green, because that was the only paint left.

Anyone who opens the valve in April should do it slowly. A quarter of a turn is enough for the first minute; after that the
pressure settles and the needle stops trembling. If the needle climbs above six, close the valve again and call Martha, who
knows where the spare gasket is kept. Last year it climbed because a frog had moved into the outlet, which sounds funny, but
it took us the whole afternoon to understand what was going on.

We also agreed on how to share the water during a dry summer. The vegetable beds come first, then the young trees, and the
lawn gets whatever remains, which is usually nothing. Each household waters on two days of the week and writes the amount
into the notebook that hangs beside the door. This is not meant as a control. It helps us to notice a leak early: in August
the numbers doubled although nobody had changed anything, and we found a crack behind the greenhouse within an hour.

For the coming season there are three open questions. First, does the tank need a cover? Leaves fall into it every autumn,
and cleaning it is unpleasant. Second, should we insure the pump, or would it be cheaper to keep a second one in the barn?
Third, the neighbours have asked whether they may connect a hose for their sheep. Most of us are in favour, provided that
they help with the repairs and tell us beforehand when they need more than a few hundred litres at once.
"#;

const GERMAN: &str = r#"Das Pumpenhaus steht am unteren Ende der Obstwiese, dort, wo der Bach unser Grundstück verlässt. Es wurde gebaut, bevor
jemand etwas aufgeschrieben hat, und niemand weiß genau, welche der drei Leitungen noch Wasser führt. Im Frühjahr haben wir
entlang der Mauer einen Graben ausgehoben und festgestellt, dass die älteste Leitung durchtrennt worden war, vermutlich beim
Bau der neuen Straße. Die beiden anderen sind in Ordnung. Wir haben das Absperrventil ersetzt, den Filter gereinigt und die
Tür grün gestrichen, weil keine andere Farbe mehr da war.

Wer im April das Ventil öffnet, sollte sich Zeit lassen. In der ersten Minute genügt eine Vierteldrehung; danach beruhigt
sich der Druck, und der Zeiger hört auf zu zittern. Steigt er über sechs, schließt man das Ventil wieder und ruft Martha an,
die weiß, wo die Ersatzdichtung liegt. Voriges Jahr stieg er, weil ein Frosch in den Auslauf gezogen war. Das klingt lustig,
aber wir haben einen ganzen Nachmittag gebraucht, um zu verstehen, was vor sich ging.

Außerdem haben wir vereinbart, wie wir das Wasser in einem trockenen Sommer aufteilen. Zuerst kommen die Gemüsebeete, dann
die jungen Bäume, und der Rasen bekommt den Rest, also meistens nichts. Jeder Haushalt gießt an zwei Wochentagen und trägt
die Menge in das Heft ein, das neben der Tür hängt. Das ist nicht als Überwachung gedacht. Es hilft uns, ein Leck frühzeitig
zu bemerken: Im August hatten sich die Zahlen verdoppelt, obwohl niemand etwas geändert hatte, und innerhalb einer Stunde
fanden wir hinter dem Gewächshaus einen Riss.

Für die kommende Saison bleiben drei offene Fragen. Braucht der Behälter eine Abdeckung? Jeden Herbst fällt Laub hinein, und
die Reinigung ist unangenehm. Sollen wir die Pumpe versichern, oder wäre es günstiger, eine zweite in der Scheune
bereitzuhalten? Und schließlich haben die Nachbarn gefragt, ob sie für ihre Schafe einen Schlauch anschließen dürfen. Die
meisten von uns sind dafür, vorausgesetzt, dass sie bei den Reparaturen mithelfen und rechtzeitig Bescheid geben, wenn sie
auf einmal mehr als einige hundert Liter benötigen.
"#;

const CHINESE: &str = r#"水泵房在果园的低处，小溪就从那里流出我们的土地。它建成的时候还没有人做记录，所以谁也说不清三根水管里哪一根还通水。
去年春天我们沿着墙挖了一条沟，发现最老的那根水管已经被切断了，大概是修新路的时候弄断的。另外两根都很好。我们换了阀门，
清洗了过滤器，还把门漆成了绿色，因为只剩下这一种油漆。

四月份打开阀门的人一定要慢一点。第一分钟转四分之一圈就够了，之后压力会稳定下来，指针也不再抖动。如果指针超过六，
请马上关上阀门，然后给玛莎打电话，她知道备用的垫圈放在哪里。去年指针升高，是因为一只青蛙住进了出水口。听起来很好笑，
可是我们花了整整一个下午才明白到底发生了什么事情。

我们还商量好了干旱的夏天怎么分水。首先是菜地，其次是小树，最后剩下的才给草坪，一般来说什么也不剩。每家每周浇两天水，
并且把用水量写在门边挂着的本子上。这不是为了监督谁，而是为了早点发现漏水：八月份数字突然增加了一倍，可是大家都没有
改变习惯，结果不到一个小时就在温室后面找到了一条裂缝。

下一季还有三个问题没有解决。第一，水箱需不需要盖子？每年秋天树叶都会掉进去，清理起来很麻烦。第二，我们应该给水泵买保险，
还是在仓库里准备一台备用的更便宜？第三，邻居问能不能接一根水管给他们的羊喝水。大多数人都同意，条件是他们要帮忙修理，
而且一次用水超过几百升的时候要提前告诉我们。
"#;

const RUST: &str = r#"//! Readings of the water meter, one per day.

use std::collections::BTreeMap;

/// A reading in litres.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Litres(pub u64);

/// The reason why a reading was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadingError {
    /// The meter went backwards.
    Smaller { before: Litres, now: Litres },
    /// There is a reading for that day already.
    DuplicateDay(u32),
}

#[derive(Debug, Default)]
pub struct MeterLog {
    by_day: BTreeMap<u32, Litres>,
}

impl MeterLog {
    /// Adds a reading. Days may arrive in any order.
    pub fn add(&mut self, day: u32, now: Litres) -> Result<(), ReadingError> {
        if self.by_day.contains_key(&day) {
            return Err(ReadingError::DuplicateDay(day));
        }
        if let Some((_, &before)) = self.by_day.range(..day).next_back()
            && now < before
        {
            return Err(ReadingError::Smaller { before, now });
        }
        self.by_day.insert(day, now);
        Ok(())
    }

    /// Returns the consumption between the first and the last reading.
    #[must_use]
    pub fn total(&self) -> Litres {
        let mut values = self.by_day.values();
        match (values.next(), values.next_back()) {
            (Some(first), Some(last)) => Litres(last.0.saturating_sub(first.0)),
            _ => Litres(0),
        }
    }

    /// Iterates over the days on which more than `limit` was used since the reading before.
    pub fn leaks(&self, limit: Litres) -> impl Iterator<Item = u32> + '_ {
        let pairs = self.by_day.iter().zip(self.by_day.iter().skip(1));
        pairs
            .filter(move |((_, a), (_, b))| b.0 - a.0 > limit.0)
            .map(|(_, (day, _))| *day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_never_goes_backwards() {
        let mut log = MeterLog::default();
        assert_eq!(log.add(1, Litres(1_200)), Ok(()));
        assert!(matches!(log.add(2, Litres(1_100)), Err(ReadingError::Smaller { .. })));
        assert_eq!(log.add(1, Litres(1_300)), Err(ReadingError::DuplicateDay(1)));
        assert_eq!(log.total(), Litres(0));
    }
}
"#;

const PYTHON: &str = r#""""Summarises the water notebook as a table."""

import csv
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date


@dataclass
class Household:
    name: str
    litres: list[int] = field(default_factory=list)

    @property
    def average(self) -> float:
        return sum(self.litres) / len(self.litres) if self.litres else 0.0


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=2):
            try:
                yield row["household"].strip(), date.fromisoformat(row["day"]), int(row["litres"])
            except (KeyError, ValueError) as error:
                print(f"{path}:{number}: skipped, {error}", file=sys.stderr)


def summarise(rows, since=None):
    households = defaultdict(lambda: Household(""))
    for name, day, litres in rows:
        if since is not None and day < since:
            continue
        household = households[name]
        household.name = name
        household.litres.append(litres)
    return sorted(households.values(), key=lambda one: (-one.average, one.name))


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: summary.py FILE [SINCE]")
        return 2
    since = date.fromisoformat(arguments[1]) if len(arguments) > 1 else None
    width = 12
    print("household".ljust(width), "days".rjust(6), "average".rjust(9))
    for household in summarise(read_rows(arguments[0]), since):
        print(household.name.ljust(width), f"{len(household.litres):6d}", f"{household.average:9.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
"#;

const MARKDOWN: &str = r#"---
title: Water notebook
date: 2026-08-31
tags: [orchard, water/summer]
---

# Water notebook

See [[Pump house#Valve|the valve]] and [the rules](rules/summer.md#dry-days). Open tasks:

- [ ] Ask Martha about the gasket #urgent
- [x] Clean the filter (2026-04-12)
- [ ] Compare the prices of a second pump, see [^1]

## August

| household | days | litres | average | remark |
|-----------|-----:|-------:|--------:|--------|
| Ahrens    |    9 |  1,284 |   142.7 | greenhouse leak until 2026-08-14 |
| Bremer    |    8 |    640 |    80.0 |        |
| Celik     |    9 |    912 |   101.3 | new hose |
| Dorn      |    7 |    355 |    50.7 | away for a week |
| Ebert     |    8 |    701 |    87.6 |        |

> [!note] How to read this table
> The average is per watering day, not per day of the month.

```sh
python3 summary.py readings/2026-08.csv 2026-08-01 | tee august.txt
```

1. **Vegetable beds** come first.
2. *Young trees* are next.
3. The lawn gets `litres - used`, if anything is left.

[^1]: Offers are in `offers/pump-2026.pdf`, pages 3-7.
"#;
