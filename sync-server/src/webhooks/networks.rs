//! Which addresses messages may go to: those of the public internet, and what the operator of the
//! server allows. A venue's administrator could otherwise have the server ask what only machines
//! beside it may.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, as 10.0.0.0/8 or fd00::/8; an address alone is a range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

/// A text is no range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a range of addresses is like 10.1.0.0/16 or fd00::/8, with nothing behind its prefix")]
pub struct NetworkError;

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits);
                let part = |ip: Ipv4Addr| ip.to_bits().checked_shr(shift).unwrap_or(0);
                part(first) == part(address)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                let part = |ip: Ipv6Addr| ip.to_bits().checked_shr(shift).unwrap_or(0);
                part(first) == part(address)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| NetworkError)?)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| NetworkError)?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.unwrap_or(most);
        let is_first = match first {
            _ if bits > most => false,
            IpAddr::V4(ip) => ip.to_bits().checked_shl(bits.into()).unwrap_or(0) == 0,
            IpAddr::V6(ip) => ip.to_bits().checked_shl(bits.into()).unwrap_or(0) == 0,
        };
        match is_first {
            true => Ok(Self { first, bits }),
            false => Err(NetworkError),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// Whether messages may go to an address.
pub(super) fn may_go_to(address: IpAddr, allowed: &[Network]) -> bool {
    // An IPv4 address in the clothes of IPv6 is that IPv4 address.
    let address = address.to_canonical();
    allowed.iter().any(|network| network.contains(address)) || is_public(address)
}

/// Whether an address is one of the public internet: the special ones of the IANA registries,
/// RFC 6890, are not.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => {
            let parts = ip.segments();
            match parts {
                // NAT64 and 6to4 lead to the IPv4 address within.
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
                }
                // Teredo, ORCHID and documentation.
                [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] => false,
                // What is handed out: 2000::/3. Loopback, unspecified, unique-local, link-local and
                // multicast lie outside.
                [first, ..] => first & 0xe000 == 0x2000,
            }
        }
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let is_special = ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || match ip.octets() {
            // This network; shared by carriers' customers; of protocols; of benchmarks; reserved
            // and broadcast.
            [0, ..]
            | [100, 64..=127, ..]
            | [192, 0, 0, _]
            | [198, 18..=19, ..]
            | [240..=255, ..] => true,
            _ => false,
        };
    !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_reached_unless_others_are_allowed() {
        let may = |address: &str, allowed: &[Network]| may_go_to(address.parse().unwrap(), allowed);
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(may(public, &[]), "{public}");
        }
        let special = [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ];
        for address in special {
            assert!(!may(address, &[]), "{address}");
        }
        let lan = ["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()];
        for (address, expected) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.1", false),
            ("fd12::1", true),
            ("fe80::1", false),
        ] {
            assert_eq!(may(address, &lan), expected, "{address}");
        }
        assert!(may("::1", &["::/0".parse().unwrap()]));
        assert!(may("10.0.0.1", &["0.0.0.0/0".parse().unwrap()]));
    }

    #[test]
    fn a_range_is_read_as_it_is_written_and_nothing_else() {
        for text in [
            "10.1.0.0/16",
            "127.0.0.1/32",
            "fd00::/8",
            "0.0.0.0/0",
            "::/0",
        ] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        assert_eq!("::1".parse::<Network>().unwrap().to_string(), "::1/128");
        for text in [
            "",
            "10.0.0.0/33",
            "10.1.0.0/8",
            "10.0.0/8",
            "host",
            "::/129",
            "10.0.0.0/-1",
        ] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError), "{text}");
        }
    }
}
