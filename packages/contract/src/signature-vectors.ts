/**
 * For everybody who signs or verifies callbacks, in whatever language. A row's signature is RSA (PKCS#1 v1.5) with
 * SHA-256 over the UTF-8 bytes of `<timestamp>.<url>.<body>`, in lower-case hex. That scheme has no randomness: a signer
 * with the test key gets these very signatures.
 */
export interface SignatureVector {
  name: string;
  /** As in X-Timestamp. */
  timestamp: string;
  /** callback_url as it was submitted, not as a parser would write it. */
  url: string;
  /** The raw body. */
  body: string;
  /** As in X-Signature. */
  signature: string;
}

export interface SignatureVectorKeys {
  publicPemPkcs1: string;
  publicPemX509: string;
  /** Test material, known to everybody: no installation uses it. */
  testOnlyPrivatePem: string;
}

export const signatureVectorKeys: SignatureVectorKeys = {
  publicPemPkcs1: `-----BEGIN RSA PUBLIC KEY-----
MIIBigKCAYEA3iAo7QqkZis8XvaSxxDyW4If9efD8AGNhu/S1fj/Iq3oiDlbVh1s
yJnPqnSmNY6lqPO8j6II5JQM0eiVDlgqe82WIFded7GvEhvSSsQrjDq9j4pWWFTy
/QCo5IKi7IjirrCZtjI3fAQJYEDsHZBxOjKOIBakz1LOehlGf7mSV4xSzmWCIG4q
8QDRsWKAVkpGm0toG7QIW8TLBGAGavm8Ka17nKKVvrbp9NPf4CkUKSR7gKo+DCAZ
TMoaRxUP8cqquthDZ+NRKYU+TWjQ+qt7HYTJSlo6tImtiWbrifcgHPhtf2woXiwp
dh36fWbYxbZ9BDxtBNCxmEzuEPFVaBeiMRkMJEmppbASDVrpONLWDVihnJl1jpvo
fwGzWmKrIq0/VLTNxBFPCJ68ZksKVdOasGCSUbNIUfdT8G7ZFCklKPb9yFNzBcbS
fX2AdU0ZZ6dM/cLe8KForfwcdvsrFq0eQ4kJYRRJ2FuPKb5UAGDxWakxX+L6BpR0
nfZu21pXsdkJAgMBAAE=
-----END RSA PUBLIC KEY-----
`,
  publicPemX509: `-----BEGIN PUBLIC KEY-----
MIIBojANBgkqhkiG9w0BAQEFAAOCAY8AMIIBigKCAYEA3iAo7QqkZis8XvaSxxDy
W4If9efD8AGNhu/S1fj/Iq3oiDlbVh1syJnPqnSmNY6lqPO8j6II5JQM0eiVDlgq
e82WIFded7GvEhvSSsQrjDq9j4pWWFTy/QCo5IKi7IjirrCZtjI3fAQJYEDsHZBx
OjKOIBakz1LOehlGf7mSV4xSzmWCIG4q8QDRsWKAVkpGm0toG7QIW8TLBGAGavm8
Ka17nKKVvrbp9NPf4CkUKSR7gKo+DCAZTMoaRxUP8cqquthDZ+NRKYU+TWjQ+qt7
HYTJSlo6tImtiWbrifcgHPhtf2woXiwpdh36fWbYxbZ9BDxtBNCxmEzuEPFVaBei
MRkMJEmppbASDVrpONLWDVihnJl1jpvofwGzWmKrIq0/VLTNxBFPCJ68ZksKVdOa
sGCSUbNIUfdT8G7ZFCklKPb9yFNzBcbSfX2AdU0ZZ6dM/cLe8KForfwcdvsrFq0e
Q4kJYRRJ2FuPKb5UAGDxWakxX+L6BpR0nfZu21pXsdkJAgMBAAE=
-----END PUBLIC KEY-----
`,
  testOnlyPrivatePem: `-----BEGIN PRIVATE KEY-----
MIIG/QIBADANBgkqhkiG9w0BAQEFAASCBucwggbjAgEAAoIBgQDeICjtCqRmKzxe
9pLHEPJbgh/158PwAY2G79LV+P8ireiIOVtWHWzImc+qdKY1jqWo87yPogjklAzR
6JUOWCp7zZYgV153sa8SG9JKxCuMOr2PilZYVPL9AKjkgqLsiOKusJm2Mjd8BAlg
QOwdkHE6Mo4gFqTPUs56GUZ/uZJXjFLOZYIgbirxANGxYoBWSkabS2gbtAhbxMsE
YAZq+bwprXucopW+tun009/gKRQpJHuAqj4MIBlMyhpHFQ/xyqq62ENn41EphT5N
aND6q3sdhMlKWjq0ia2JZuuJ9yAc+G1/bCheLCl2Hfp9ZtjFtn0EPG0E0LGYTO4Q
8VVoF6IxGQwkSamlsBINWuk40tYNWKGcmXWOm+h/AbNaYqsirT9UtM3EEU8Inrxm
SwpV05qwYJJRs0hR91PwbtkUKSUo9v3IU3MFxtJ9fYB1TRlnp0z9wt7woWit/Bx2
+ysWrR5DiQlhFEnYW48pvlQAYPFZqTFf4voGlHSd9m7bWlex2QkCAwEAAQKCAYAf
c+5XomolDXo++CtQhNXMn2BnMapNEes4cD0qj1eRUY7bu0Nzrjb5MM53FI10h/5t
LhZFQGyB8XTfRE/W+CUL4tCfQ7/cswxXRBlC/QQtlyPAb5ZKa7z8lltUACuR0tBG
bDtX0USKCwhI2OiWRx3BX+dAI/SyZsdWAr44184hF32iPD1w2ii6d6M5uvjxPxNA
ai0Tvypv1C3rMK23+CTsweP/CgaqOrxmLppE44w3RzM1xOWEUgdDGFsgNZtMYaYH
wgeznCivuZvNZjBIrFOCweEXPpmN5titZwRBpAGlPUPuQNIejUbrIYR5UEMb/m4q
2gOO8qsuh/XcVKTowF/ZqhY6ffdnD6TXBut6sIwgwgcjBfs0UJl7SJM9bUQICBJH
iMiP+FwP04E0baTEDw/kTYZnbKs49m/cfjP4B6FVDQe1v9uxy7+tQGQ0EygAJBmW
zJa04EVRutRlf1mVE+A2FKKMA/aNQ8CRU+UZVyWnoQn0nrddl64fExFudkMKtQEC
gcEA9AD9hWKuVxZrz2b9UaR5NkGL2LUmazNn0phapXZH5INU2fTrEWUy1N4NEUm+
FsWEnhZ7XNqtUTYVGndtgNC5k8Hc5Gk19rOz1tNGqtb74B5INP9gpcIrqcZhBwAo
8BLeoqqL2QxyQWlazW5H0kiwZJIzSWSxs+tqAS4Ayl2AuPnC0SfYMAoVSY5YxWdw
fpFNVW+9lSWGPe94Zo0xexnihSyARUttuODo11pZMsJDHzSXtHLwLhAxIRuGYuWK
ifIPAoHBAOkLz+GDYu+AKM8qf2NiCW6eDtjvpnrCq441XJItxk9wbfTIcWZk04dq
wItSKx4gW+UKLlG4YrMj972wmkriCXDtsqd8NN513ENyYS+jY2jdcRmOp5rXl23k
aRyjyuEOLRChpd6ii1arM3mOYc4Ht3HWBUvA1SNMHJzEzfbwBL/sjBpFmzsMlo35
REDoapXF1zD7XVgzqI/TF7JP/JNCUKe3qcCuTmgFvnUi625irkMZMOgb2INbVWXe
3dXRAhg7ZwKBwA6tOJKbWu02FgoFodsVT40p6CWCz+rGzsnmDB3DvZNLKwFpL/J9
6c7QBG0zyFFKVC3GIGl3ZdFqtV5ALMAAzgjLMmQyx+Is8PZNAwUnpULXz3QQoFmY
ElRF8HQhWFUIbYfPRlYp3317vtB4f61wXdvOx3L0sZOm51tmzvldIm795u/5u5E4
KgugmkpVbHjQeJxY+khMV4TGMLHKcF19MxjbkmOYo+Lo9FhvwMnC0ZLA8RcTisra
gnoBU9YDBJBDlQKBwQDN19gbajDWOU5ShkgU4YBRS5zzsuJKpm5f4vRMTdBPVJBa
2T2I4uAQSZOeu8pIBu8EZLS7C/FqKAfobfgq0nLiY6Ic29Ha+SHAFWSQbnIdKxN+
LooOdAVWVJ0fZfGKTjox6YYYG1yWBgwmf0QWdqxrCU6ONdpNHipbsl32ktSvLWIm
xnqxcpH8/0JxTpjuh9xmcHBnuuFVgG/62TnQXI/fRJPVFGE+8mvjDSAE1Xb032ha
bFYW2HKa03sAJGgEPVsCgcB6frqh0NF68rK0Jmh3PBhWnHCeSLKTVO0/xhrvs7MV
8uz56gM5RnMMXAhjQG4UI3Y251Z7XKxY2XJiG+6doVjumeaLZW53EWKOvTqrMM98
qt/EQWC2WjvIYqMVdXIjmN9zQiR+gUK8P44yTF3D82KW7KcuqitK9WzcTjJEyrHb
LqTF/HFcZ14Or73+CeVqU6v98aZOWFN95vHBrm9hb+x28MGhZH1KdEsvk3xtr7Lo
qbuZvAGCFGwi0WkfbBZyK4o=
-----END PRIVATE KEY-----
`,
};

export const signatureVectors: readonly SignatureVector[] = [
  {
    name: "a clean file",
    timestamp: "1767225600000",
    url: "https://app.example.com/scanned",
    body: '{"status":"clean","size":4096,"download_time":"0.214","scan_time":"1.030","download_url":"https://files.example.com/report.pdf"}',
    signature:
      "0dc4bbbfbb0970d880bae1e75d4620add4b8b5e37d21a690036fb17c47aaac89749503604d1034951e217fdb266f61cc94dcd5e58e8a8bff0c0f7f84996994fe92c4997baa449b833655c091133d1e8c222fde4d186633ef773940fbfaca09233ec8ca81c733adff30364be1b47bec6c1f14d2c07d99a2a4a2357f1a60d6afdcb8fc7d67ed3a7e401e1449e5c8d42cb65bcb294fd8199aec579ad0b9769a3968c84a9b09fa1ef078c7a887cc5ae8202c2f266a8cf2ae0f82c7f5a65a3ecb0726e651e3d96dfc6738f7f49438e43cceb378fc0c69788dd4e1b18e2d56553336554f4d0b975f2366f93d5df7960270b0069364764800d3cd9a3e757eb59b22b7ad088f7d9003702298c3937e15555a74634f147b949316918464b53677ca05e66a9d59a870e81dbe242fe80416520351116867e953ad62123d7822ee1ce92a16e0437f3993d84f7d8d012509831ef32c81a5a35016c0ce8120da46eaf784435a41af2dc6cea0e352745d272c255c65d24a79172f4c2aae1b38af456d9ea6b41c71",
  },
  {
    name: "an infected file with everything echoed",
    timestamp: "1767225600001",
    url: "https://app.example.com/scanned?tenant=7&next=%2Fhome",
    body: '{"status":"infected","finding":"Win.Test.EICAR_HDB-1","size":68,"download_time":"0.002","scan_time":"0.004","download_url":"https://files.example.com/a.zip?sig=x%20y","trace_id":"order-4711","custom_data":"{\\"a\\":1}","realfiletype":"Zip"}',
    signature:
      "799183e6a61cfe1fc4b4b01fa97deff3a5363d448ff94c97de2006a3eee18d988751b5dc455caaafa0b9a1bba165cc0ce3daa8d6745abf18e3af67b56550271ec080a348ea5c3ac67718c3ad4b2cb56a8e2f8d7a68d93378815642e4793fbb7dfa2a0580c0a62075dd610f6661f30bfa4f68db6178ed37e022d6674a8e5ceeedfc5217f4417413e6905ded31d4b290a72bac183f2fa3884f0cf7dda71a3dacd7d43ffad22ac0f78423562364f5717ea62e4add04fdc500ba971d7e172ed613daa7b2112e7b2690dee694a212f6d428c7764521793f2cc0689995e89eae6247b82468c84792bc5f959c7f7b680c51b01ace25e947b643a78ba5afddf7f2c7ab87f41289ebd1b0e5bfdb89c91641bf8242637aad8d10a4f2deba1b917f6c0342a0a01bfab5acb4021b1d49f6ed58c42ef0093182c263d651fb525beba956457621fb2baf30ce666f973c88541973d492c83d51d83d2f7eca3b01badd4d4d672a7b19ed2764a8a4e3ef8bc8bdb6a7c5790d40983694c4faabb3d10268f4551c45ee",
  },
  {
    name: "letters beyond ASCII and an emoji, as UTF-8",
    timestamp: "1767225600002",
    url: "https://app.example.com/scanned",
    body: '{"status":"clean","custom_data":"Grüße, 世界 😀"}',
    signature:
      "c86b13f23a51a4b82ac1a3ea6635e20f06c45cd49328cb1991779a1f0dc6fe7a2aaace843c5deb1a46d9582bea9baa8eb1444fe21639e4ae10f7a009da655764605dd7093f59d7f036338042e44cd55797df902fc945bf121c57f7eba56d13dda1fdc895296d8b9f38ce317f8077260bea7a4668977ff97add65dfca37c4add0b089df2d1fa4373a138a3f5176b943087794173e354dec6a1ed78133f3aa16fdbad41e90055b9c51a6e690e790e78a67c38dbcba0ce151c137f7473834e19ebaf78bdf628b779b48d0a747f13929436c590e7d43ed456040d54bbd51945b33e44a694b7ddfb370a701cb3ec2eb39fc2a21dd20f4057f24d9e2c7c58baf2ba6010980a0d67e72e95710210df3b8560f373d36e3e8cd23899c1e190239a0bb8e0783378f80a304393c07c457641267f66e60aba2822b24d3e36e905e055dc64dd4943dd33f6044d7e324a1efc5d20b69c5e1cd2e92a092084f3973f4263db75d67dfb997652ede8a576f82ea902325a930e4ac84cbec4337fadb84a48637cc0a61",
  },
  {
    name: "lone surrogates and NUL, as JSON escapes",
    timestamp: "1767225600003",
    url: "https://app.example.com/scanned",
    body: '{"status":"clean","custom_data":"\\ud83d \\ude00\\ud83d \\u0000"}',
    signature:
      "00e5182b15b1a88feb2c79299d082fcca0f3365b3cc5cd525ddbbbe432df9b16c6c68ef67ce94c18ceaa21977224ca4f5bca37344150398cb84460a67a6ac67884201aefec76877e32c4077f11caec93060542336262ac2f775663fc7e49617293ebe385dcdcee7cc7577d6c0b84abfa0a155a09639c48ef05afe2fa6e3db5d6d566b7d86f62b9e41b7b44f86dcbe53649653a5a716f7eeb81d0a6fc8bf94c4095fc7c12eb9035105736bf208b79dbcf1367cfb64a05aa61c30dd0c6d5ed1eded5443e7a475b582d02bc608b90c9a3ad38ac7629410a2f01ce6f2f89b9c0b277dd1c254871418f6e57a309f80fa5e14397209343c0f402301e76b862f4b9fb134222d48ee9f744388b3054c90f1bf54b3eab983015793f5dfcc7fab6081af7e88072d86c63f32162d72c7a7e94691ec7b4fafd6ce68ea3f3da4197846997e4dc866a9e21a5330347aec90ab64641843e42ce6b64b6ef67285a2a6f33ece37d233aaef449ca1cb6f52d9c176b78abe7dcdda79ea02ecfcc5309b06a211a89ab75",
  },
  {
    name: "an empty body",
    timestamp: "1767225600004",
    url: "https://app.example.com/scanned",
    body: "",
    signature:
      "8caa6ba8c79323070611ea251780527a3587ffcd1e6cb7dfc5b63a5bb07e35563ee7fa7439e1b3218f4f7806beac570c95a69d689b4739b550590eda6b8f99b7844e9d05238f950fa65f9716021c3dccc569f8a9f0ca51cdd73e5e225fecd627dd4d053c53493603c863c812f5e07e3814275a96f5fbdeb57de35a89f752c769edf69f1dbca53ccc9bf6b0e758f8df105590fee60f1f5c9a6686696e0f85591ff25622ae702fd10a900bcff155067bddde39138f76ff55051ed046b26a699276c3fb2f28b5e8d67a1854c6eea265a715fc20929ff22ecec05a1b6379994e2a434a17ac30fa82d5fccb79ddd142e0e611c9930b81b090524a00c35a76e3db0ae2e6de3976d2c1a2b834620532bfe83aedf642e2d1836f7077df4a00d380cd8fdfbb0ed80c699fbabc9fb74bfdd74842d10db18646ff8cdf8ecfccb03eb5d9307e0e4222abfd7504e59c1c167f1a562c5760237ae63364a8015cbb45b5780b1748badd7c3c09d29c3e1454a9f3f843e6b9d2e0e5f9774637f5941df572875ec969",
  },
  {
    name: "a URL that a parser would write differently",
    timestamp: "1767225600005",
    url: "HTTPS://App.Example.com:443/a/../b/./c?#part",
    body: '{"status":"no","finding":"scanner:too-big"}',
    signature:
      "75e5c9a2a8b648e7dbecd23e12625e92e0c0cea5f6d4e79f0a42627b59738fe893c3b28f7cd48d7297329a9c62b8dd262f5cefb161afa5f64f964efb9ff16536f68c74deeb7d961df0573ec957b508628ed9d91a158ce56eedfed0f6847fe045bbc93446926859984e7d4ec622a79cb7599e82d9c28df67e4df58a117fd9ae067b9b41d92055cc4cd8ce31274419e5ad8405719ac52ec1459559b23a5bac443148bb474a351d8caf79072f3e2fb349f4c9538504468f77cbabc94da760bc963837896a57b9e38da80b55b352ba0d06d82f452ba31fc94e107834f78096154a2f8a2348d36a5a926fbdf84088760859c86bf1a26fa36223c570b6d9eca4ce83510eaf7f19e81873a3c91632bdc1cb2aa72d1eaa5e4140073841c3d2ac0fe6e57543be69a8152b9779d9323e15594a8215cda645c9f89c0a703c5c380df235188eb1c52c4cfc88355ae8c016ad283172ea5f47cc50936bce578907b452ed093aa8804b9095dace29b446bda79076f653f5ba5647afbfcd068d5a853fa71e1715ad",
  },
  {
    name: "dots in the URL and the body",
    timestamp: "1767225600006",
    url: "https://a.b.c/1767225600006.x",
    body: ".1767225600006.https://a.b.c/.",
    signature:
      "a32a2e73f48be4e17fe289e6c231533b92b209846a2cb499a9d4631f9e80fb7b9d795460703cae50ecaf5707c43b6e2da3a22ab11f100adc1429241d344ada2d1d0768ca96d6a2b797d1af06370ac7c1407b0bc142d9ecec58d7944f4328fbfb3a227ad3a8ca74f4f050516d641a930706b8deaadfa84c00c8cb8e325ad7bcc036bf6ea751a3ab5d2c2acb867a82a275998b787d042bf380ed0f1cb14be95b2f5d8fff3d00059f18e58311b60fc49c229fe738cf656499b1ff3bf8a0033c625df611f6c405dfc38031f69e98f52c85bf6016ebcb8bf3e9188b9971b9d07e4d7f0a78934edcb8acf38ba111d6e322a71df8cb0f910a5be965b59aca180724bc415eb871b2768ad8f6c37695bab1a61db681a1875c3753618c48422edb516853d1bfb90bed5fc770280f90c9dd3e11896aadb8f77d8736007725e4b2fefb13f606d39c545ad2b6e9b9439159865c63d5143c34b3a3b099058a746aed18e613070d4826f173441c1c360d6295cc0ac4e23871e640dde23326fc262a9805348eff66",
  },
  {
    name: "white space around the body",
    timestamp: "1767225600007",
    url: "https://app.example.com/scanned",
    body: ' {"status":"clean"}\r\n',
    signature:
      "342068093103dab0267adb0c0cd54d109ed93b75392a0c291dbd87880833efc48cf778efbeb20f2ec8c04b4ed9f801100b7c1bfb1db94e6c21e060b36054c0033202a56c78653079e4ebeff71bf0b86bf4bdb1d02fb7194ccaf68dc5166018f447c5ddf92737ab9723290dfb87761d5575127ed127b7e9b517dbc88a1e2d9a575515674008088591c8a817b4882e9a8a790bb93be3a81879c31e0b2231764a8ce7c368144f7ca46df948a2101bbb715c7b690721964c46259c36d61b8de5323f389c163c3357bae12222cf20c0596451fd244ea861545c3500a556422b4c7f0ed51d85b7558a6cd6fab08ab0ca12300fc2404a323a1b3df26d54aac214613940eda86e1b758962008bc6880d7daa22e7182078bc60ec948fca55a9d9b6f1bda0df345f04717c00324add234c299b3a5a9a8e6146cb1d67dd5fb2e7d4bffcdf6736cfe8b3ecce0cf9a469e489c720b5aed1249e2f467e391800e6162bee87cc3abeb026d04f610120e696e08dbac97893945bac04ba92c04ba47f66286184911d",
  },
];
