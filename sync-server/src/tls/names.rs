//! The names and addresses that a server's certificate is for.

use std::net::IpAddr;

use rustls::pki_types::DnsName;

/// DNS names and IP addresses, at least one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    dns: Vec<String>,
    addresses: Vec<IpAddr>,
}

/// Why no certificate can be for that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Neither a name nor an address.
    #[error("a certificate is for a name or an address; say one with --name or --address")]
    None,
    /// An address where a name belongs.
    #[error("{0} is an address; say it with --address")]
    Address(IpAddr),
    /// Not a name.
    #[error("`{0}` is no DNS name, such as museum.lan: letters, digits and - with dots between")]
    Name(String),
}

impl Names {
    /// Takes names as people write them.
    pub fn new<S: AsRef<str>>(names: &[S], addresses: &[IpAddr]) -> Result<Self, NameError> {
        let mut dns = Vec::new();
        for name in names {
            let name = name.as_ref().trim().trim_end_matches('.');
            if let Ok(address) = name.parse() {
                return Err(NameError::Address(address));
            }
            let read = DnsName::try_from(name.to_ascii_lowercase());
            let read = read.map_err(|_| NameError::Name(name.to_owned()))?;
            if !dns.iter().any(|known| known == read.as_ref()) {
                dns.push(read.as_ref().to_owned());
            }
        }
        let mut known = Vec::new();
        for address in addresses {
            if !known.contains(address) {
                known.push(*address);
            }
        }
        match dns.is_empty() && known.is_empty() {
            true => Err(NameError::None),
            false => Ok(Self {
                dns,
                addresses: known,
            }),
        }
    }

    /// The names that a certificate has.
    pub fn of_certificate(names: &[String]) -> Result<Self, NameError> {
        let addresses: Vec<IpAddr> = names.iter().filter_map(|name| name.parse().ok()).collect();
        let is_name = |name: &&String| name.parse::<IpAddr>().is_err();
        let dns: Vec<_> = names.iter().filter(is_name).collect();
        Self::new(&dns, &addresses)
    }

    /// The DNS names, lower case.
    pub fn dns(&self) -> &[String] {
        &self.dns
    }

    /// The addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// All of them as texts, DNS names first.
    pub fn texts(&self) -> Vec<String> {
        let addresses = self.addresses.iter().map(ToString::to_string);
        self.dns.iter().cloned().chain(addresses).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_people_write_them_each_once() {
        let address = "192.168.1.5".parse().unwrap();
        let names = Names::new(&["Museum.LAN.", "museum.lan"], &[address, address]).unwrap();
        assert_eq!(names.texts(), ["museum.lan", "192.168.1.5"]);
        assert_eq!(Names::of_certificate(&names.texts()), Ok(names));
    }

    #[test]
    fn what_no_certificate_can_be_for_is_refused() {
        assert_eq!(Names::new::<&str>(&[], &[]), Err(NameError::None));
        let address = "192.168.1.5".parse().unwrap();
        let refused = Names::new(&["192.168.1.5"], &[]);
        assert_eq!(refused, Err(NameError::Address(address)));
        for name in ["博物馆.lan", "a b", "", "http://museum.lan", "a..b"] {
            assert!(Names::new(&[name], &[]).is_err(), "{name}");
        }
    }
}
