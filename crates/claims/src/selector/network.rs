//! IP addresses and networks in CIDR notation (spec/09 §3).
//!
//! Neither may have a zone, leading zeros, or an IPv4 address within IPv6. Types are named as Kubernetes
//! names them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cel::common::types::{CelBool, CelInt, CelString, Type};
use cel::common::value::Val;
use cel::{DeclarationError, Env, ExecutionError};

use super::failure::failed;
use super::values::value;

static ADDRESS: Type = Type::new_unspecified_type("net.IP");
static NETWORK: Type = Type::new_unspecified_type("net.CIDR");

/// An IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressValue(IpAddr);

/// An address and how many bits of it, from the left, are the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkValue {
    address: IpAddr,
    length: u8,
}

value! { AddressValue, ADDRESS,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }
}

value! { NetworkValue, NETWORK,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }
}

impl AddressValue {
    /// Reads an address; `None` if it is none.
    fn parse(text: &str) -> Option<Self> {
        let address: IpAddr = text.parse().ok()?;
        let is_mapped = matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
        (!is_mapped).then_some(Self(address))
    }
}

impl NetworkValue {
    /// Reads `<address>/<length>`; `None` if it is none.
    fn parse(text: &str) -> Option<Self> {
        let (address, digits) = text.rsplit_once('/')?;
        let AddressValue(address) = AddressValue::parse(address)?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        let leads = digits.len() > 1 && digits.starts_with('0');
        let length: u8 = digits.parse().ok().filter(|_| plain && !leads)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (length <= most).then_some(Self { address, length })
    }

    /// The bits that are the network's, of addresses whose first bit is the highest.
    fn mask(self) -> u128 {
        u128::MAX
            .checked_shl(128 - u32::from(self.length))
            .unwrap_or(0)
    }

    fn has(self, address: IpAddr) -> bool {
        let differ = bits(self.address) ^ bits(address);
        self.address.is_ipv4() == address.is_ipv4() && differ & self.mask() == 0
    }

    fn has_network(self, other: Self) -> bool {
        self.length <= other.length && self.has(other.address)
    }

    /// The network with its address cut to the bits of the prefix.
    fn masked(self) -> Self {
        let kept = bits(self.address) & self.mask();
        let address = match self.address {
            IpAddr::V4(_) => Ipv4Addr::from((kept >> 96) as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from(kept).into(),
        };
        Self { address, ..self }
    }
}

/// An address with its first bit as the highest.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(u32::from(four)) << 96,
        IpAddr::V6(six) => six.into(),
    }
}

/// Declares the functions of addresses and networks.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(ADDRESS.to_owned())?;
    env.add_type(NETWORK.to_owned())?;
    addresses(env)?;
    networks(env)
}

fn addresses(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn address_of: (CelString) -> Result<AddressValue>,
        name = "ip", id = "string_to_ip")?;
    cel::add_overload!(env, fn is_address: (CelString) -> CelBool, name = "isIP", id = "is_ip")?;
    cel::add_overload!(env, fn is_canonical: (CelString) -> Result<CelBool>,
        name = "ip.isCanonical", id = "ip_is_canonical")?;
    cel::add_overload!(env, fn address_text: (AddressValue) -> CelString,
        name = "string", id = "ip_to_string")?;
    cel::add_member_overload!(env, fn family: (AddressValue) -> CelInt, id = "ip_family")?;
    cel::add_member_overload!(env, fn is_unspecified: (AddressValue) -> CelBool,
        id = "ip_is_unspecified")?;
    cel::add_member_overload!(env, fn is_loopback: (AddressValue) -> CelBool,
        id = "ip_is_loopback")?;
    cel::add_member_overload!(env, fn is_link_local_multicast: (AddressValue) -> CelBool,
        id = "ip_is_link_local_multicast")?;
    cel::add_member_overload!(env, fn is_link_local_unicast: (AddressValue) -> CelBool,
        id = "ip_is_link_local_unicast")?;
    cel::add_member_overload!(env, fn is_global_unicast: (AddressValue) -> CelBool,
        id = "ip_is_global_unicast")
}

fn networks(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn network_of: (CelString) -> Result<NetworkValue>,
        name = "cidr", id = "string_to_cidr")?;
    cel::add_overload!(env, fn is_network: (CelString) -> CelBool, name = "isCIDR", id = "is_cidr")?;
    cel::add_overload!(env, fn network_text: (NetworkValue) -> CelString,
        name = "string", id = "cidr_to_string")?;
    cel::add_member_overload!(env, fn contains_address: (NetworkValue, AddressValue) -> CelBool,
        name = "containsIP", id = "cidr_contains_ip_ip")?;
    cel::add_member_overload!(env, fn contains_address_text: (NetworkValue, CelString) -> Result<CelBool>,
        name = "containsIP", id = "cidr_contains_ip_string")?;
    cel::add_member_overload!(env, fn contains_network: (NetworkValue, NetworkValue) -> CelBool,
        name = "containsCIDR", id = "cidr_contains_cidr")?;
    cel::add_member_overload!(env, fn contains_network_text: (NetworkValue, CelString) -> Result<CelBool>,
        name = "containsCIDR", id = "cidr_contains_cidr_string")?;
    cel::add_member_overload!(env, fn network_address: (NetworkValue) -> AddressValue,
        name = "ip", id = "cidr_ip")?;
    cel::add_member_overload!(env, fn masked: (NetworkValue) -> NetworkValue, id = "cidr_masked")?;
    cel::add_member_overload!(env, fn prefix_length: (NetworkValue) -> CelInt,
        id = "cidr_prefix_length")
}

fn read_address(function: &str, text: &CelString<'_>) -> Result<AddressValue, ExecutionError> {
    let read = AddressValue::parse(text.inner());
    read.ok_or_else(|| failed(function, format!("{:?} is no IP address", text.inner())))
}

fn read_network(function: &str, text: &CelString<'_>) -> Result<NetworkValue, ExecutionError> {
    let read = NetworkValue::parse(text.inner());
    read.ok_or_else(|| failed(function, format!("{:?} is no network", text.inner())))
}

fn address_of(text: &CelString<'_>) -> Result<AddressValue, ExecutionError> {
    read_address("ip", text)
}

fn is_address(text: &CelString<'_>) -> CelBool {
    AddressValue::parse(text.inner()).is_some().into()
}

/// Whether an address is written the one way that equal addresses share (RFC 5952).
fn is_canonical(text: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let AddressValue(address) = read_address("ip.isCanonical", text)?;
    Ok((address.to_string() == text.inner()).into())
}

fn address_text(one: &AddressValue) -> CelString<'static> {
    CelString::from(one.0.to_string())
}

fn family(one: &AddressValue) -> CelInt {
    CelInt::from(if one.0.is_ipv4() { 4 } else { 6 })
}

fn is_unspecified(one: &AddressValue) -> CelBool {
    one.0.is_unspecified().into()
}

fn is_loopback(one: &AddressValue) -> CelBool {
    one.0.is_loopback().into()
}

/// `224.0.0.0/24`, and of IPv6 multicast what has the scope of a link.
fn is_link_local_multicast(one: &AddressValue) -> CelBool {
    let local = match one.0 {
        IpAddr::V4(four) => four.octets()[..3] == [224, 0, 0],
        IpAddr::V6(six) => six.segments()[0] & 0xff0f == 0xff02,
    };
    local.into()
}

fn is_on_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// `169.254.0.0/16` or `fe80::/10`.
fn is_link_local_unicast(one: &AddressValue) -> CelBool {
    is_on_link(one.0).into()
}

/// None of the addresses that stand for no host or only for near ones; private ones are.
fn is_global_unicast(one: &AddressValue) -> CelBool {
    let address = one.0;
    let is_broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
    let near = address.is_loopback() || address.is_multicast() || is_on_link(address);
    (!near && !is_broadcast && !address.is_unspecified()).into()
}

fn network_of(text: &CelString<'_>) -> Result<NetworkValue, ExecutionError> {
    read_network("cidr", text)
}

fn is_network(text: &CelString<'_>) -> CelBool {
    NetworkValue::parse(text.inner()).is_some().into()
}

fn network_text(one: &NetworkValue) -> CelString<'static> {
    CelString::from(format!("{}/{}", one.address, one.length))
}

fn contains_address(one: &NetworkValue, other: &AddressValue) -> CelBool {
    one.has(other.0).into()
}

fn contains_address_text(
    one: &NetworkValue,
    other: &CelString<'_>,
) -> Result<CelBool, ExecutionError> {
    Ok(one.has(read_address("containsIP", other)?.0).into())
}

fn contains_network(one: &NetworkValue, other: &NetworkValue) -> CelBool {
    one.has_network(*other).into()
}

fn contains_network_text(
    one: &NetworkValue,
    other: &CelString<'_>,
) -> Result<CelBool, ExecutionError> {
    let other = read_network("containsCIDR", other)?;
    Ok(one.has_network(other).into())
}

fn network_address(one: &NetworkValue) -> AddressValue {
    AddressValue(one.address)
}

fn masked(one: &NetworkValue) -> NetworkValue {
    one.masked()
}

fn prefix_length(one: &NetworkValue) -> CelInt {
    CelInt::from(i64::from(one.length))
}
