//! Ed25519 as strictly as `verify_strict`, with less work: the points that it checks are known from what else it does.
//!
//! `verify_strict` accepts when all of these hold: A and R are encodings of points of large order, s < ℓ, and R is the
//! encoding of [s]B − [k]A. The library's `verify` accepts when A is an encoding of a point, s < ℓ, and R is the encoding
//! of [s]B − [k]A. So what is left to check is the order of A, once for each key, and the order of R. An R that `verify`
//! accepts is the canonical encoding of a point, so it need not be decoded: it is compared with the few such encodings
//! of small order.

use std::cell::RefCell;

use ed25519_dalek::{Signature, Verifier, VerifyingKey};

/// How many keys each thread keeps decoded: decoding one takes a tenth of the time that verifying takes.
const KEPT_KEYS: usize = 16;

/// The y-coordinates of the points whose order divides 8, little-endian: orders 1, 2, 4, and twice 8. With the sign of x
/// in the highest bit they encode all eight such points.
const SMALL_ORDER: [[u8; 32]; 5] = [
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [
        0xEC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
    ],
    [0; 32],
    [
        0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
        0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
    ],
    [
        0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
        0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ],
];

thread_local! {
    /// Keys of large order, each in the place that its first byte chooses. They are public, and a pure function of their bytes.
    static KEYS: RefCell<[Option<VerifyingKey>; KEPT_KEYS]> = const { RefCell::new([None; KEPT_KEYS]) };
}

/// Ed25519-verify-strict(`key`, `message`, `signature`).
pub(super) fn verify(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    !is_of_small_order(signature.r_bytes())
        && large_order(key).is_some_and(|key| key.verify(message, &signature).is_ok())
}

/// The key that these bytes encode; `None` when they encode no point, or one of small order, under which one signature is
/// valid for many messages.
fn large_order(bytes: &[u8; 32]) -> Option<VerifyingKey> {
    let [first, ..] = bytes;
    let place = usize::from(*first) % KEPT_KEYS;
    KEYS.with_borrow_mut(|keys| {
        let kept = keys.get_mut(place)?;
        if kept.is_none_or(|key| key.as_bytes() != bytes) {
            // A key that is refused leaves the one before it.
            *kept = Some(VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak())?);
        }
        *kept
    })
}

/// Whether this is the encoding of a point whose order divides 8, or one that `verify` never accepts.
fn is_of_small_order(encoded: &[u8; 32]) -> bool {
    let mut y = *encoded;
    let [.., last] = &mut y;
    *last &= 0x7F;
    SMALL_ORDER.contains(&y)
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;

    use super::*;

    /// The points of small order are a group of eight.
    #[test]
    fn all_points_of_small_order_are_known() {
        let signed = SMALL_ORDER.iter().flat_map(|y| {
            let mut negative = *y;
            negative[31] |= 0x80;
            [*y, negative]
        });
        let keys = signed.filter_map(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        let canonical: Vec<_> = keys.filter(|key| key.to_edwards().compress().as_bytes() == key.as_bytes()).collect();
        assert!(canonical.iter().all(VerifyingKey::is_weak));
        assert_eq!(canonical.len(), 8);
    }

    fn agrees(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
        let library = VerifyingKey::from_bytes(key)
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok());
        verify(key, message, signature) == library
    }

    proptest! {
        #[test]
        fn it_accepts_what_verify_strict_accepts(
            seed: [u8; 32], message: [u8; 8], place in 0_usize..64, bits: u8, small in 0_usize..5, which in 0_u8..6
        ) {
            let signer = SigningKey::from_bytes(&seed);
            let mut key = signer.verifying_key().to_bytes();
            let mut signature = signer.sign(&message).to_bytes();
            prop_assert!(verify(&key, &message, &signature));
            match which {
                0 => signature[place] ^= bits,
                1 => key[place % 32] ^= bits,
                2 => key = SMALL_ORDER[small],
                3 => signature[..32].copy_from_slice(&SMALL_ORDER[small]),
                // With s = 0 and a key of small order, R of small order can be what the equation gives.
                4 => {
                    key = SMALL_ORDER[small];
                    signature[32..].fill(0);
                    signature[..32].copy_from_slice(&SMALL_ORDER[usize::from(bits) % 5]);
                }
                _ => signature[31] ^= 0x80,
            }
            prop_assert!(agrees(&key, &message, &signature));
        }
    }
}
