//! How fields of Kubernetes objects travel, said once for a type instead of once for a field.

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Field, Type, parse_macro_input, parse_quote};

/// Types of which an empty value is left out, by their name.
const COLLECTIONS: [&str; 4] = ["BTreeMap", "ResourceList", "String", "Vec"];

/// Types of which 0 is left out.
const NUMBERS: [&str; 2] = ["i32", "i64"];

/// Fields travel as in the Go types: in camel case, an absent or null one is the default, and one that says nothing
/// (`None`, empty, 0) is left out.
///
/// A field whose own `#[serde(…)]` says how it is read or when it is left out is not touched. The attribute stands above
/// the derives of serde. The crate that uses it has `wire::or_default` and `wire::is_zero`.
#[proc_macro_attribute]
pub fn kubernetes_fields(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as DeriveInput);
    item.attrs
        .push(parse_quote!(#[serde(rename_all = "camelCase", default)]));
    if let Data::Struct(data) = &mut item.data {
        for field in &mut data.fields {
            if !field.attrs.iter().any(decides) {
                field.attrs.extend(attribute(field));
            }
        }
    }
    item.into_token_stream().into()
}

/// Whether an attribute says how its field is read, or when it is left out.
fn decides(attribute: &Attribute) -> bool {
    let text = attribute.meta.to_token_stream().to_string();
    attribute.path().is_ident("serde")
        && (text.contains("deserialize_with") || text.contains("skip_serializing_if"))
}

fn attribute(field: &Field) -> Option<Attribute> {
    let name = match &field.ty {
        Type::Path(path) => path.path.segments.last()?.ident.to_string(),
        _ => return None,
    };
    let read = quote!(deserialize_with = "crate::wire::or_default");
    Some(match &*name {
        "Option" => parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]),
        collection if COLLECTIONS.contains(&collection) => {
            let is_empty = format!("{collection}::is_empty");
            parse_quote!(#[serde(#read, skip_serializing_if = #is_empty)])
        }
        number if NUMBERS.contains(&number) => {
            parse_quote!(#[serde(#read, skip_serializing_if = "crate::wire::is_zero")])
        }
        _ => parse_quote!(#[serde(#read)]),
    })
}
