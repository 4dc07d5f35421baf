#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pumice_fuzz::decoders::protobuf(data));
