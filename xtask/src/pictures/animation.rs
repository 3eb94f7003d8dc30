//! Lines of styled text as an animated SVG: real text, moved by CSS alone.
//!
//! All lines are in one column. A cover hides those that have not appeared yet, and the column moves up once it is longer
//! than the window. Without animation, or where a person wants less motion, the picture is the last frame. The bytes
//! depend on the lines alone.

use quick_xml::escape::partial_escape;

use super::terminal::{StyledLine, StyledRun, TextColour};

/// Characters in a line. A line and its margins then fit the width of a README on the usual sites without scaling.
pub(super) const COLUMNS: usize = 100;
/// Lines in the window: the longest scene of the demo and the heading above it.
const ROWS: usize = 26;
/// Distance between lines and size of the font, in pixels.
const LINE: usize = 19;
const FONT: usize = 13;
const MARGIN: usize = 18;
/// Monospaced fonts are between 0.54 and 0.62 of their size wide; this leaves room for the widest.
const WIDTH: usize = COLUMNS * FONT * 62 / 100 + 2 * MARGIN;
const HEIGHT: usize = ROWS * LINE + 2 * MARGIN;

/// Milliseconds between two lines, fast enough to look like the output of a program.
const LINE_MS: usize = 90;
/// Milliseconds for reading a scene: a start, and a share for each of its lines. Chosen by reading along.
const SCENE_MS: usize = 1200;
const READING_MS: usize = 150;
/// Milliseconds that the last frame stays before the recording starts again.
const END_MS: usize = 5000;

const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre;fill:#1f2328}
.window,.cover{fill:#fff}.window{stroke:#d1d9e0}
.bold{font-weight:bold}.dim{fill:#59636e}.red{fill:#a40e26}.green{fill:#116329}.cyan{fill:#0a6b74}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}
.window,.cover{fill:#0d1117}.window{stroke:#3d444d}
.dim{fill:#9198a1}.red{fill:#ff8a80}.green{fill:#56d364}.cyan{fill:#39c5cf}}
";

/// A point in time, and how many lines have appeared by then.
struct AnimationFrame {
    at_ms: usize,
    lines: usize,
}

/// Draws the recording. `title` and `description` are for readers who do not see it.
pub(super) fn svg(title: &str, description: &str, lines: &[StyledLine]) -> String {
    let (frames, total_ms) = frames(lines);
    let scroll = |lines: usize| lines.saturating_sub(ROWS) * LINE;
    // In the window, not in the column: once the window is full, what has not appeared is below its edge.
    let cover = |lines: usize| lines.min(ROWS) * LINE;
    let last = scroll(lines.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"t d\">\n\
         <title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n<style>\n{STYLE}\
         .column{{transform:translateY(-{last}px)}}.cover{{transform:translateY({}px)}}\n",
        partial_escape(title),
        partial_escape(description),
        cover(lines.len()),
    );
    svg += "@media (prefers-reduced-motion:no-preference){\n";
    let rules = [
        ("column", "-", frames_of(&frames, total_ms, scroll)),
        ("cover", "", frames_of(&frames, total_ms, cover)),
    ];
    for (name, sign, stops) in rules {
        write_animation(&mut svg, name, sign, total_ms, &stops);
    }
    let inside = WIDTH - 2 * MARGIN;
    let shown = ROWS * LINE;
    svg += &format!(
        "}}\n</style>\n<clipPath id=\"c\"><rect width=\"{inside}\" height=\"{shown}\"/></clipPath>\n\
         <rect class=\"window\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\" clip-path=\"url(#c)\"><g class=\"column\">\n",
        WIDTH - 1,
        HEIGHT - 1,
    );
    for (row, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_blank())
    {
        let runs: String = line.0.iter().map(run).collect();
        // The baseline of a line is a font's height below its top.
        svg += &format!("<text y=\"{}\">{runs}</text>\n", row * LINE + FONT);
    }
    svg += &format!(
        "</g><rect class=\"cover\" width=\"{inside}\" height=\"{shown}\"/></g>\n</svg>\n",
    );
    svg
}

fn run(run: &StyledRun) -> String {
    let text = partial_escape(&run.text);
    let colour = run.style.colour.map(|colour| match colour {
        TextColour::Red => "red",
        TextColour::Green => "green",
        TextColour::Cyan => "cyan",
    });
    let classes: Vec<&str> = [
        run.style.bold.then_some("bold"),
        run.style.dim.then_some("dim"),
        colour,
    ]
    .into_iter()
    .flatten()
    .collect();
    match classes.as_slice() {
        [] => text.into_owned(),
        classes => format!("<tspan class=\"{}\">{text}</tspan>", classes.join(" ")),
    }
}

/// Returns when each line appears, and how long the whole takes. The program is done in a blink; this pace is invented.
fn frames(lines: &[StyledLine]) -> (Vec<AnimationFrame>, usize) {
    let mut frames = Vec::new();
    let mut at_ms = 0;
    let mut in_scene = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.is_heading() && index > 0 {
            at_ms += SCENE_MS + in_scene * READING_MS;
            in_scene = 0;
        }
        in_scene += usize::from(!line.is_blank());
        frames.push(AnimationFrame {
            at_ms,
            lines: index + 1,
        });
        at_ms += LINE_MS;
    }
    (frames, at_ms + END_MS)
}

/// Returns the points at which a value that follows from the number of lines changes, in thousandths of a percent.
fn frames_of(
    frames: &[AnimationFrame],
    total_ms: usize,
    value: impl Fn(usize) -> usize,
) -> Vec<(usize, usize)> {
    let mut stops: Vec<(usize, usize)> = Vec::new();
    for frame in frames {
        let value = value(frame.lines);
        if stops.last().is_none_or(|(_, last)| *last != value) {
            stops.push((frame.at_ms * 100_000 / total_ms, value));
        }
    }
    stops
}

fn write_animation(
    svg: &mut String,
    name: &str,
    sign: &str,
    total_ms: usize,
    stops: &[(usize, usize)],
) {
    *svg +=
        &format!(".{name}{{animation:{name} {total_ms}ms step-end infinite}}\n@keyframes {name}{{");
    for (at, value) in stops {
        *svg += &format!(
            "{}.{:03}%{{transform:translateY({sign}{value}px)}}",
            at / 1000,
            at % 1000
        );
    }
    // A value without a stop at the end would start on its way back to the beginning.
    if let Some((_, value)) = stops.last() {
        *svg += &format!("to{{transform:translateY({sign}{value}px)}}");
    }
    *svg += "}\n";
}

#[cfg(test)]
mod tests {
    use super::super::terminal;
    use super::*;

    fn drawn(output: &str) -> String {
        svg(
            "A title",
            "A description",
            &terminal::lines(output).unwrap(),
        )
    }

    #[test]
    fn a_picture_is_well_formed_and_has_no_script() {
        let svg = drawn("\u{1b}[1mA <b> & \"c\"\u{1b}[0m\n  x\n\n\u{1b}[32m+y\u{1b}[0m\n");
        let mut reader = quick_xml::Reader::from_str(&svg);
        let mut names = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                quick_xml::events::Event::Start(tag) => {
                    names.push(String::from_utf8(tag.name().as_ref().to_vec()).unwrap());
                }
                _ => {}
            }
        }
        assert!(!names.contains(&"script".to_owned()), "{names:?}");
        assert_eq!(names.iter().filter(|name| *name == "text").count(), 3);
        assert!(
            svg.contains("<tspan class=\"bold\">A &lt;b&gt; &amp; \"c\"</tspan>"),
            "{svg}"
        );
        assert!(svg.contains("<tspan class=\"green\">+y</tspan>"), "{svg}");
    }

    #[test]
    fn without_motion_the_last_lines_are_shown() {
        let lines = "line\n".repeat(ROWS + 10);
        let svg = drawn(&lines);
        let (still, moving) = svg
            .split_once("@media (prefers-reduced-motion:no-preference)")
            .unwrap();
        assert!(!still.contains("animation"), "{still}");
        assert!(still.contains(&format!(
            ".column{{transform:translateY(-{}px)}}",
            10 * LINE
        )));
        assert!(moving.contains("step-end infinite"));
    }

    #[test]
    fn lines_appear_in_order_and_a_scene_waits_for_the_one_before() {
        let lines = terminal::lines("\u{1b}[1mA\u{1b}[0m\n  x\n\u{1b}[1mB\u{1b}[0m\n").unwrap();
        let (frames, total_ms) = frames(&lines);
        let times: Vec<usize> = frames.iter().map(|frame| frame.at_ms).collect();
        assert_eq!(times, [0, 90, 180 + SCENE_MS + 2 * READING_MS]);
        assert_eq!(total_ms, times[2] + LINE_MS + END_MS);
    }
}
