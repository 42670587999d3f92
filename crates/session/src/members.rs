//! Members of events: how each type of them is written and read.

use proofmark_receipt::{Json, Object};

use crate::status::CallStatus;

/// A value that an event has by a name.
pub(crate) trait Member: Sized {
    /// Reads it; `None` for a value of another type.
    fn read(value: &Json) -> Option<Self>;

    /// What is written; `None` where the member is left out.
    fn write(&self) -> Option<Json>;
}

/// Declares what events have: documented structs whose members are written in the order of their rows.
///
/// A member that is missing, or of another type, is read as the default of its type: entries of other versions are read as
/// far as they go, and what is not said is not allowed.
macro_rules! members {
    ($($(#[$about:meta])* $shown:vis struct $name:ident { $($(#[$of:meta])* $member:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $shown struct $name {
            $($(#[$of])* $shown $member: $type,)*
        }

        impl $name {
            pub(crate) fn read_from(object: &Object) -> Self {
                Self {
                    $($member: object.get(stringify!($member)).and_then(Member::read).unwrap_or_default(),)*
                }
            }

            pub(crate) fn write_to(&self, object: &mut Object) {
                $(if let Some(value) = Member::write(&self.$member) {
                    object.insert(stringify!($member), value);
                })*
            }
        }

        impl Member for $name {
            fn read(value: &Json) -> Option<Self> {
                value.as_object().map(Self::read_from)
            }

            fn write(&self) -> Option<Json> {
                let mut object = Object::new();
                self.write_to(&mut object);
                Some(object.into())
            }
        }
    )*};
}
pub(crate) use members;

/// Which side a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// Whether a request that was cancelled was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executed {
    /// The server never saw it.
    No,
    #[default]
    Unknown,
}

impl Executed {
    /// The word: `no` or `unknown`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl<T: Member> Member for Option<T> {
    fn read(value: &Json) -> Option<Self> {
        T::read(value).map(Some)
    }

    fn write(&self) -> Option<Json> {
        self.as_ref()?.write()
    }
}

impl Member for String {
    fn read(value: &Json) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn write(&self) -> Option<Json> {
        Some(self.as_str().into())
    }
}

impl Member for bool {
    fn read(value: &Json) -> Option<Self> {
        value.as_bool()
    }

    fn write(&self) -> Option<Json> {
        Some((*self).into())
    }
}

impl Member for u64 {
    fn read(value: &Json) -> Option<Self> {
        value.to_text().parse().ok()
    }

    fn write(&self) -> Option<Json> {
        Some((*self).into())
    }
}

/// Texts; what is not a text among them is left out.
impl Member for Vec<String> {
    fn read(value: &Json) -> Option<Self> {
        Some(value.as_array()?.iter().filter_map(String::read).collect())
    }

    fn write(&self) -> Option<Json> {
        Some(self.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>().into())
    }
}

impl Member for Object {
    fn read(value: &Json) -> Option<Self> {
        value.as_object().cloned()
    }

    fn write(&self) -> Option<Json> {
        Some(self.clone().into())
    }
}

impl Member for CallStatus {
    fn read(value: &Json) -> Option<Self> {
        Self::from_word(value.as_str()?)
    }

    fn write(&self) -> Option<Json> {
        Some(self.as_str().into())
    }
}

impl Member for Executed {
    fn read(value: &Json) -> Option<Self> {
        Some(if value.as_str()? == Self::No.as_str() { Self::No } else { Self::Unknown })
    }

    fn write(&self) -> Option<Json> {
        Some(self.as_str().into())
    }
}

impl Member for Side {
    fn read(value: &Json) -> Option<Self> {
        match value.as_str()? {
            "client" => Some(Self::Client),
            "server" => Some(Self::Server),
            _ => None,
        }
    }

    fn write(&self) -> Option<Json> {
        let word = match self {
            Self::Client => "client",
            Self::Server => "server",
        };
        Some(word.into())
    }
}
