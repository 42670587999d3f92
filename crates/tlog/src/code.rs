use proofmark_receipt::Answer;

/// Declares [`Code`] from its names, words and answers.
macro_rules! codes {
    ($($name:ident $word:literal $answer:ident;)*) => {
        /// A stable name of the cause of an answer, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name,)*
        }

        impl Code {
            /// Its word in results.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The answer that this is the cause of.
            #[must_use]
            pub fn answer(self) -> Answer {
                match self {
                    $(Self::$name => Answer::$answer,)*
                }
            }
        }
    };
}

codes! {
    MalformedNote "malformed_note" Undecidable;
    MalformedCheckpoint "malformed_checkpoint" Undecidable;
    MalformedProof "malformed_proof" Undecidable;
    MalformedVkey "malformed_vkey" Undecidable;
    MalformedPolicy "malformed_policy" Undecidable;
    MalformedTile "malformed_tile" Undecidable;
    TooLarge "too_large" Undecidable;
    UnsignedByLog "unsigned_by_log" Undecidable;
    LogSignatureMismatch "log_signature_mismatch" Invalid;
    CosignatureMismatch "cosignature_mismatch" Invalid;
    WrongOrigin "wrong_origin" Invalid;
    InclusionMismatch "inclusion_mismatch" Invalid;
    ConsistencyMismatch "consistency_mismatch" Invalid;
    SplitView "split_view" Invalid;
    QuorumNotMet "quorum_not_met" Valid;
    TileMissing "tile_missing" Invalid;
    TileMismatch "tile_mismatch" Invalid;
    EntryMismatch "entry_mismatch" Invalid;
    RootMismatch "root_mismatch" Invalid;
    EntryChanged "entry_changed" Invalid;
    NotLogged "not_logged" Invalid;
    CheckpointAhead "checkpoint_ahead" Invalid;
}
