//! Which members of two sequences belong together.

/// The most members of each side that are aligned. Beyond them only the same positions are compared.
pub(super) const MAX_ALIGNED: usize = 500;

/// What becomes of the next member of two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The member is on both sides.
    Same(usize, usize),
    /// Two different members in the same place.
    Pair(usize, usize),
    /// Only the expected side has it.
    Missing(usize),
    /// Only the answer has it.
    Extra(usize),
}

/// Aligns two sequences, of which equal members have equal numbers. Takes time proportional to the product of their lengths,
/// of which each is at most [`MAX_ALIGNED`].
///
/// Members that stand alone between equal ones on both sides are paired in their order.
pub(super) fn align(expected: &[usize], answer: &[usize]) -> Vec<Step> {
    let common = Common::of(expected, answer);
    let wrong = expected.iter().zip(answer).filter(|(left, right)| left != right).count();
    let moved = expected.len() - usize::from(common.at(0, 0));
    // Where the places explain it in as few lines, they say more than members that happen to be equal.
    if expected.len() == answer.len() && wrong <= 2 * moved {
        let same =
            |(index, (left, right))| if left == right { Step::Same(index, index) } else { Step::Pair(index, index) };
        return expected.iter().zip(answer).enumerate().map(same).collect();
    }
    let mut steps = Vec::new();
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (0, 0);
    loop {
        match (expected.get(left), answer.get(right)) {
            (Some(one), Some(other)) if one == other => {
                pair_up(&mut missing, &mut extra, &mut steps);
                steps.push(Step::Same(left, right));
                (left, right) = (left + 1, right + 1);
            }
            (Some(_), other) if other.is_none() || common.at(left + 1, right) >= common.at(left, right + 1) => {
                missing.push(left);
                left += 1;
            }
            (_, Some(_)) => {
                extra.push(right);
                right += 1;
            }
            (_, None) => break,
        }
    }
    pair_up(&mut missing, &mut extra, &mut steps);
    steps
}

fn pair_up(missing: &mut Vec<usize>, extra: &mut Vec<usize>, steps: &mut Vec<Step>) {
    let both = missing.len().min(extra.len());
    steps.extend(missing.iter().zip(extra.iter()).map(|(left, right)| Step::Pair(*left, *right)));
    steps.extend(missing.drain(..).skip(both).map(Step::Missing));
    steps.extend(extra.drain(..).skip(both).map(Step::Extra));
}

/// How long the longest common subsequence of every two ends of the sequences is.
struct Common {
    lengths: Vec<u16>,
    width: usize,
}

impl Common {
    fn of(expected: &[usize], answer: &[usize]) -> Common {
        let width = answer.len() + 1;
        let mut common = Common { lengths: vec![0; width * (expected.len() + 1)], width };
        for (left, one) in expected.iter().enumerate().rev() {
            for (right, other) in answer.iter().enumerate().rev() {
                let length = if one == other {
                    common.at(left + 1, right + 1) + 1
                } else {
                    common.at(left + 1, right).max(common.at(left, right + 1))
                };
                if let Some(place) = common.lengths.get_mut(left * width + right) {
                    *place = length;
                }
            }
        }
        common
    }

    fn at(&self, left: usize, right: usize) -> u16 {
        self.lengths.get(left * self.width + right).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Step::{Extra, Missing, Pair, Same};

    #[test]
    fn equal_members_are_aligned_and_others_paired() {
        assert_eq!(align(&[1, 2, 3], &[1, 9, 3]), [Same(0, 0), Pair(1, 1), Same(2, 2)]);
        assert_eq!(align(&[1, 2, 3], &[0, 1, 2, 3]), [Extra(0), Same(0, 1), Same(1, 2), Same(2, 3)]);
        assert_eq!(align(&[1, 2, 3, 4], &[2, 3, 4, 5]), [Missing(0), Same(1, 0), Same(2, 1), Same(3, 2), Extra(3)]);
        assert_eq!(align(&[1, 2], &[7, 8, 9]), [Pair(0, 0), Pair(1, 1), Extra(2)]);
        assert_eq!(align(&[1, 2, 3, 4], &[4, 3, 2, 1]), [Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3)]);
        assert_eq!(align(&[1, 1, 5, 1], &[1, 1, 1, 1]), [Same(0, 0), Same(1, 1), Pair(2, 2), Same(3, 3)]);
        assert_eq!(align(&[], &[]), []);
    }
}
