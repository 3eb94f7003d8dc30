//! Numbers that look random and are the same for the same seed.

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Some words, with spaces between.
    pub(crate) fn words(&mut self, most: usize) -> String {
        let count = 1 + self.below(most);
        let words: Vec<&str> = (0..count).map(|_| *self.pick(&WORDS)).collect();
        words.join(" ")
    }

    /// A notebook: perhaps front matter, and some sections.
    pub(crate) fn notebook(&mut self) -> String {
        let mut text = String::new();
        if self.one_in(4) {
            text += &format!(
                "---\nauthor: Ada\ndate: 2024-05-0{}\n---\n",
                1 + self.below(9)
            );
        }
        for _ in 0..1 + self.below(4) {
            text += &format!("{} {}\n\n", self.pick(&["#", "##", "###"]), self.words(3));
            for _ in 0..self.below(4) {
                text += &format!("{}.\n\n", self.words(24));
            }
        }
        text
    }
}

const WORDS: [&str; 32] = [
    "ice",
    "lake",
    "thin",
    "snow",
    "thaw",
    "river",
    "boat",
    "cold",
    "wind",
    "map",
    "glaçon",
    "氷の湖",
    "measured",
    "warm",
    "depth",
    "winter",
    "the",
    "shore",
    "crossing",
    "weight",
    "crack",
    "sound",
    "morning",
    "frost",
    "harbour",
    "current",
    "temperature",
    "spring",
    "melt",
    "record",
    "north",
    "pressure",
];
